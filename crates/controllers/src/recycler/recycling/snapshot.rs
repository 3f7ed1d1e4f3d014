//! Input of the decision about one recycle.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycledInstance};
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{Group, GroupRef, InstanceId, Lifecycle, Member};

use super::begin::Refusal;
use super::mark::Mark;
use super::messages;
use crate::drain;
use crate::kinds::Node;
use crate::recycler::RecyclerTimings;

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) recycle: Recycle,
    /// Its owner, as the tags of the group name it.
    pub(crate) owner: Arc<str>,
    pub(crate) settings: Settings,
    pub group: GroupState,
    /// Nodes by instance: of the members, and of the instances to replace.
    pub nodes: BTreeMap<InstanceId, Arc<Node>>,
    pub(crate) drains: BTreeMap<InstanceId, drain::View>,
    pub(crate) own_node: Option<Arc<str>>,
    /// Whether the EventRecycler is being deleted. The recycle is rolled back then, even with `dryRun`.
    pub(crate) cancelled: bool,
}

/// How to recycle: the spec with its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The time between two descriptions of the group.
    pub poll: Duration,
    /// How long a step may take without progress.
    pub timeout: Duration,
    pub drain: bool,
    pub drain_timeout: Duration,
    /// How many instances may be unavailable at once; at least one.
    pub max_unavailable: u32,
    /// Whether members need a ready Node. Without a cluster, the group alone says that they are in service.
    pub needs_nodes: bool,
    /// Whether the recycle is paused.
    pub dry_run: bool,
    /// The shortest time between a change of the group and the next request about it.
    pub settle: Duration,
    /// How long the cloud may still execute a call whose sender has given up or died.
    pub late_call: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let timeout = Duration::from_secs(20 * 60);
        Self {
            poll: Duration::from_secs(15),
            timeout,
            drain: true,
            drain_timeout: timeout,
            max_unavailable: 1,
            needs_nodes: true,
            dry_run: false,
            settle: RecyclerTimings::default().settle,
            late_call: RecyclerTimings::default().late_call,
        }
    }
}

pub(crate) type GroupState = Observed<Box<Group>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    No,
    Ours,
    /// That of this recycle, with other sizes.
    Outdated,
    Foreign,
}

impl Snapshot {
    pub(crate) fn text(&self) -> String {
        super::mark::write(&self.recycle, &self.owner)
    }

    pub(crate) fn marked(&self, group: &Group) -> Marked {
        let Some(text) = &group.mark else { return Marked::No };
        match Mark::read(text) {
            Some(mark) if mark.id == self.recycle.id => {
                // The owner is not compared: another EventRecycler may have resumed the recycle.
                let same = mark.original == self.recycle.original;
                if same { Marked::Ours } else { Marked::Outdated }
            }
            _ => Marked::Foreign,
        }
    }

    pub(crate) fn node(&self, instance: &str) -> Option<&Arc<Node>> {
        self.nodes.get(&InstanceId::from(instance))
    }

    /// Whether a member is in service, and its Node is ready and schedulable.
    pub(crate) fn is_available(&self, member: &Member) -> bool {
        let node = self.nodes.get(&member.id);
        let ready = node.is_some_and(|node| node.is_ready() && !node.unschedulable);
        let in_service = member.lifecycle == Lifecycle::InService && member.healthy;
        in_service && (ready || !self.settings.needs_nodes)
    }

    pub(crate) fn is_own(&self, instance: &RecycledInstance) -> bool {
        let node = self.node(&instance.id).map(|node| &*node.meta.key.name);
        self.own_node.is_some() && node.or(instance.node.as_deref()) == self.own_node.as_deref()
    }

    pub(crate) fn lasted(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.recycle.step_since)).unwrap_or_default()
    }
}

pub fn group_of(recycle: &Recycle) -> GroupRef {
    GroupRef::new(recycle.region.as_str(), recycle.group.as_str())
}

pub(crate) fn member<'a>(group: &'a Group, id: &str) -> Option<&'a Member> {
    group.members.iter().find(|member| &*member.id.0 == id)
}

pub(crate) fn stays(group: &Group, instance: &RecycledInstance) -> bool {
    member(group, &instance.id).is_some_and(|member| !member.lifecycle.is_leaving())
}

/// Whether the member counts towards the desired size. One that is in Standby or being detached does not.
pub(crate) fn has_a_place(member: &Member) -> bool {
    matches!(member.lifecycle, Lifecycle::Pending | Lifecycle::InService)
}

pub(crate) fn weight<'a>(members: impl Iterator<Item = &'a Member>) -> u32 {
    members.fold(0, |sum, member| sum.saturating_add(member.weight))
}

/// Whether the member is protected or out of service, and so must not be terminated.
pub(crate) fn is_spared(member: &Member) -> bool {
    member.protected_from_scale_in
        || matches!(member.lifecycle, Lifecycle::Standby | Lifecycle::Other(_))
}

/// The processes that replace a member.
pub(crate) const REPLACES: [&str; 2] = ["Launch", "Terminate"];

pub(crate) fn suspended(group: &Group, processes: &[&'static str]) -> Option<&'static str> {
    processes.iter().copied().find(|process| group.suspended.contains(*process))
}

/// Why a terminated instance would not be replaced by a new one.
pub(crate) fn obstacle(group: &Group) -> Option<String> {
    if let Some(process) = suspended(group, &REPLACES) {
        return Some(messages::suspended(process));
    }
    takes_back(group).then(|| Refusal::WarmPool.to_string())
}

/// Whether terminated members go back to the warm pool and may return from there.
pub(crate) fn takes_back(group: &Group) -> bool {
    group.warm_pool.as_ref().is_some_and(|pool| pool.reuses)
}

pub(crate) fn settled(instance: &RecycledInstance) -> bool {
    matches!(instance.state, InstanceState::Gone | InstanceState::Kept)
}

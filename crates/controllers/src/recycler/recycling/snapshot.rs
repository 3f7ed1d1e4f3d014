//! What the decision about one recycle may look at: what is stored, the group as last described, and the Nodes of its instances.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::drain::Mark as DrainMark;
use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{self, InstanceState, Recycle, RecycledInstance};
use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{
    Group, GroupRef, InstanceId, Lifecycle, Member, Process, Sizes,
};

use super::begin::Refusal;
use super::mark::Mark;
use crate::drain;
use crate::kinds;

/// What the decision about one recycle may look at.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The recycle, as it is stored.
    pub recycle: Recycle,
    /// Whose it is, as the tag says it.
    pub owner: Arc<str>,
    /// How it is to be done.
    pub settings: Settings,
    /// The group.
    pub group: Sight,
    /// Nodes, by the instance that they run on: of what is in the group, and of what is to go.
    pub nodes: BTreeMap<InstanceId, Node>,
    /// What the drains see that are under way, by instance.
    pub drains: BTreeMap<InstanceId, drain::View>,
    /// The Node that this process runs on, if it knows.
    pub own_node: Option<Arc<str>>,
    /// Whether nobody wants the recycle any more: what was begun is put right, also where nothing may be changed otherwise.
    pub cancelled: bool,
}

/// How a recycle is to be done: what the spec says, with the defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Between two looks at the group.
    pub poll: Duration,
    /// How long a step may take without getting on.
    pub timeout: Duration,
    /// Whether Nodes are drained.
    pub drain: bool,
    /// How long the drain of one Node may take.
    pub drain_timeout: Duration,
    /// How many instances of the group may be missing at once; at least one.
    pub max_unavailable: u32,
    /// Whether nothing may be changed at present.
    pub dry_run: bool,
    /// The shortest time between a change of the group and the next request about it.
    pub settle: Duration,
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
            dry_run: false,
            settle: Duration::from_secs(1),
        }
    }
}

/// What is known of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// Nobody could say.
    Unknown(Failure),
    /// It does not exist.
    Gone,
    /// This.
    There(Box<Group>),
}

/// A Node, as far as a recycle looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Identity and version.
    pub meta: Meta,
    /// Whether its kubelet says that it is well.
    pub ready: bool,
    /// Whether it is cordoned, by whomever.
    pub cordoned: bool,
    /// What a drain has written on it.
    pub mark: Option<DrainMark>,
}

/// Whose text is on the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// There is none.
    No,
    /// Ours, and it says what it should.
    Ours,
    /// Ours, from before something was changed in the plan.
    Outdated,
    /// Somebody else's.
    Foreign,
}

impl Node {
    /// What a recycle looks at.
    pub fn of(node: &kinds::Node) -> Self {
        Self {
            meta: node.meta.clone(),
            ready: node.is_ready(),
            cordoned: node.unschedulable,
            mark: node.annotations.get(ANNOTATION_DRAIN).and_then(DrainMark::read),
        }
    }
}

impl Snapshot {
    /// The text that should be on the group.
    pub fn text(&self) -> String {
        super::mark::write(&self.recycle, &self.owner)
    }

    /// Whose text is on `group`.
    pub fn marked(&self, group: &Group) -> Marked {
        let Some(text) = &group.mark else { return Marked::No };
        match Mark::read(text) {
            Some(mark) if mark.id == self.recycle.id => {
                // Who wrote it does not matter: it may have been taken over.
                let same = mark.original == self.recycle.original;
                if same { Marked::Ours } else { Marked::Outdated }
            }
            _ => Marked::Foreign,
        }
    }

    /// The Node of an instance.
    pub fn node(&self, instance: &str) -> Option<&Node> {
        self.nodes.get(&InstanceId::from(instance))
    }

    /// Whether a member can be relied on: it is in use, and its Node is ready and takes pods.
    pub fn is_available(&self, member: &Member) -> bool {
        let node = self.nodes.get(&member.id);
        member.lifecycle == Lifecycle::InService
            && member.healthy
            && node.is_some_and(|node| node.ready && !node.cordoned)
    }

    /// Whether the instance is the one that this process runs on.
    pub fn is_own(&self, instance: &RecycledInstance) -> bool {
        let node = self.node(&instance.id).map(|node| &*node.meta.key.name);
        self.own_node.is_some() && node.or(instance.node.as_deref()) == self.own_node.as_deref()
    }

    /// For how long the present step has lasted.
    pub fn lasted(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.recycle.step_since)).unwrap_or_default()
    }
}

/// The group of a recycle.
pub fn group_of(recycle: &Recycle) -> GroupRef {
    GroupRef::new(recycle.region.as_str(), recycle.group.as_str())
}

/// The member of this id.
pub fn member<'a>(group: &'a Group, id: &str) -> Option<&'a Member> {
    group.members.iter().find(|member| &*member.id.0 == id)
}

/// Whether the instance is neither gone from the group nor on its way out.
pub fn stays(group: &Group, instance: &RecycledInstance) -> bool {
    member(group, &instance.id).is_some_and(|member| !member.lifecycle.is_leaving())
}

/// Whether the member makes up a part of the group's size. One that is in Standby, or is being detached, does not: the size was made smaller, or
/// another instance has come in its place.
pub fn has_a_place(member: &Member) -> bool {
    matches!(member.lifecycle, Lifecycle::Pending | Lifecycle::InService)
}

/// How much of the group's size these make up together.
pub fn weight<'a>(members: impl Iterator<Item = &'a Member>) -> u32 {
    members.fold(0, |sum, member| sum.saturating_add(member.weight))
}

/// Whether somebody does not want the member to go.
pub fn is_spared(member: &Member) -> bool {
    member.protected_from_scale_in
        || matches!(member.lifecycle, Lifecycle::Standby | Lifecycle::Other(_))
}

/// Why an instance that goes would not be replaced by a new one, if it would not.
pub fn obstacle(group: &Group) -> Option<String> {
    let mut needed = [Process::Launch, Process::Terminate].into_iter();
    if let Some(process) = needed.find(|process| group.suspended.contains(process)) {
        return Some(format!("the process {process} of the group is suspended"));
    }
    takes_back(group).then(|| Refusal::WarmPool.to_string())
}

/// Whether members that are taken out of use may come back from the warm pool, as bad as they were.
pub fn takes_back(group: &Group) -> bool {
    group.warm_pool.as_ref().is_some_and(|pool| pool.reuses)
}

/// Whether nothing more will be done about the instance.
pub fn settled(instance: &RecycledInstance) -> bool {
    matches!(instance.state, InstanceState::Gone | InstanceState::Kept)
}

/// Sizes as they are stored.
pub fn stored(sizes: Sizes) -> recycle::Sizes {
    let Sizes { min, max, desired } = sizes;
    recycle::Sizes { min, max, desired }
}

/// Sizes as the cloud takes them.
pub fn wanted(sizes: recycle::Sizes) -> Sizes {
    let recycle::Sizes { min, max, desired } = sizes;
    Sizes { min, max, desired }
}

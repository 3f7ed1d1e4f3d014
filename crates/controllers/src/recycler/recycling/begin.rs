//! Whether a group can be recycled at all, and the plan to begin with.
//!
//! In: what is asked for, the group as described, the Nodes. Out: a recycle to be stored, or why not. Nothing is written for a group that
//! is refused. The same rules are looked at once more before the tag is written, because the group may have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycledInstance, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::key::Uid;
use machinist_provider::node_groups::{Group, GroupRef, InstanceId, Process};

use super::mark::Mark;
use super::snapshot::{Node, is_spared, stored, takes_back};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group: GroupRef,
    /// Who asks: the uid of an EventRecycler.
    pub asked_by: Uid,
    /// How.
    pub strategy: Strategy,
    /// How many events led to it.
    pub events: i64,
}

/// Why a group is not recycled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing in it.
    #[error("the group has no instances")]
    Empty,
    /// It is going.
    #[error("the group is being deleted")]
    Deleting,
    /// Somebody told it not to do what a recycle relies on.
    #[error("the process {0} of the group is suspended, so its instances would not be replaced")]
    Suspended(Process),
    /// What goes would come back.
    #[error(
        "the warm pool of the group takes instances back instead of terminating them; use the strategy InstanceRefresh"
    )]
    WarmPool,
    /// Somebody does not want these to go, and this strategy cannot leave them out.
    #[error(
        "{0} is protected from scale-in; with the strategy Replace such instances are left alone"
    )]
    Protected(InstanceId),
    /// Somebody has taken these out of use, and what is done to all does not reach them.
    #[error(
        "{0} is in Standby or being detached; with the strategy Replace such instances are left alone"
    )]
    OutOfUse(InstanceId),
    /// Its sizes are EKS's.
    #[error("EKS keeps the sizes of the group; use the strategy Replace or InstanceRefresh")]
    ManagedByEks,
    /// This process would go with all the others, and nobody could bring the group back.
    #[error(
        "machinist itself runs on {0}, which is in the group; use the strategy Replace, which leaves it to the end"
    )]
    OwnNode(Arc<str>),
    /// Somebody else recycles it.
    #[error("the group is being recycled already: {0}")]
    Busy(String),
    /// AWS replaces its instances already.
    #[error("an instance refresh of the group is running already")]
    RefreshRunning,
}

/// The plan to begin with, or why none is begun: what [`objection`] says.
pub fn begin(
    request: &Request,
    group: &Group,
    nodes: &BTreeMap<InstanceId, Node>,
    own_node: Option<&str>,
    is_active: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Recycle, Refusal> {
    if let Some(refusal) = objection(request, group, nodes, own_node, is_active) {
        return Err(refusal);
    }
    let GroupRef { region, name } = &request.group;
    if let Some(mark) = group.mark.as_deref().and_then(Mark::read) {
        return Ok(mark.resume(region, &name.0, request.events, now));
    }
    Ok(Recycle {
        id: id(&request.asked_by, now),
        group: name.to_string(),
        region: region.to_string(),
        strategy: request.strategy,
        step: Step::Planned,
        original: stored(group.sizes),
        instances: instances(group, nodes),
        refresh_before: group.refresh.as_ref().map(|refresh| refresh.id.to_string()),
        started: now,
        step_since: now,
        events: request.events,
        failure: None,
        message: None,
    })
}

/// Why no recycle of the group is begun, if none is. `is_active` says whether the recycle of some id is stored anywhere: a text on the
/// group that belongs to none is taken up again, whoever began it.
pub fn objection(
    request: &Request,
    group: &Group,
    nodes: &BTreeMap<InstanceId, Node>,
    own_node: Option<&str>,
    is_active: impl Fn(&str) -> bool,
) -> Option<Refusal> {
    if group.deleting {
        return Some(Refusal::Deleting);
    }
    let Some(text) = &group.mark else {
        return refusal(request.strategy, group, nodes, own_node);
    };
    let abandoned = |mark: Mark| mark.is_of_a_recycler() && !is_active(&mark.id);
    let busy = !Mark::read(text).is_some_and(abandoned);
    busy.then(|| Refusal::Busy(text.clone()))
}

/// Why a group cannot be recycled in this way, if it cannot.
pub fn refusal(
    strategy: Strategy,
    group: &Group,
    nodes: &BTreeMap<InstanceId, Node>,
    own_node: Option<&str>,
) -> Option<Refusal> {
    if group.deleting {
        return Some(Refusal::Deleting);
    }
    let mut going = group.members.iter().filter(|member| !member.lifecycle.is_leaving());
    if going.clone().next().is_none() {
        return Some(Refusal::Empty);
    }
    let needed = |process: &&Process| match process {
        Process::Launch | Process::Terminate => true,
        Process::ReplaceUnhealthy => false,
        Process::Other(word) => {
            strategy == Strategy::InstanceRefresh && &**word == "InstanceRefresh"
        }
    };
    if let Some(process) = group.suspended.iter().find(needed) {
        return Some(Refusal::Suspended(process.clone()));
    }
    if group.refresh.as_ref().is_some_and(|refresh| refresh.status.is_running()) {
        return Some(Refusal::RefreshRunning);
    }
    // What AWS replaces by itself does not go back into the pool.
    if strategy != Strategy::InstanceRefresh && takes_back(group) {
        return Some(Refusal::WarmPool);
    }
    if strategy == Strategy::Replace {
        return None;
    }
    if let Some(member) = going.find(|member| is_spared(member)) {
        let id = member.id.clone();
        let protected = member.protected_from_scale_in;
        return Some(if protected { Refusal::Protected(id) } else { Refusal::OutOfUse(id) });
    }
    let own = group.members.iter().filter_map(|member| nodes.get(&member.id));
    let own = own.map(|node| &node.meta.key.name).find(|name| Some(&***name) == own_node);
    if let Some(name) = own {
        return Some(Refusal::OwnNode(Arc::clone(name)));
    }
    (strategy == Strategy::ScaleToZero && group.managed_by_eks).then_some(Refusal::ManagedByEks)
}

/// What is in the group now and is not going anyway.
pub(super) fn instances(
    group: &Group,
    nodes: &BTreeMap<InstanceId, Node>,
) -> Vec<RecycledInstance> {
    let going = group.members.iter().filter(|member| !member.lifecycle.is_leaving());
    going
        .map(|member| RecycledInstance {
            id: member.id.to_string(),
            node: nodes.get(&member.id).map(|node| node.meta.key.name.to_string()),
            state: InstanceState::Waiting,
            since: None,
        })
        .collect()
}

/// One recycler begins at most one recycle of a group in a second, so this is unique for the group.
fn id(asked_by: &Uid, now: Timestamp) -> String {
    let uid: String = asked_by.0.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    format!("{uid}-{}", now.as_second())
}

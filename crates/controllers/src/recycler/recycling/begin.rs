//! Whether a group can be recycled. The rules are checked again before it is marked, because it may have changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycledInstance, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::key::Uid;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{Group, GroupRef, InstanceId};

use super::mark::Mark;
use super::snapshot::{REPLACES, is_spared, suspended, takes_back};
use crate::kinds::Node;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub group: GroupRef,
    /// The uid of the EventRecycler.
    pub requested_by: Uid,
    pub strategy: Strategy,
    pub events: i64,
}

/// Why a group cannot be recycled. The texts are in `messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    Unreachable(Failure),
    Empty,
    Deleting,
    Suspended(&'static str),
    WarmPool,
    Protected(InstanceId),
    OutOfService(InstanceId),
    ManagedByEks,
    /// This process runs on that Node of the group, and the strategy replaces all Nodes at once.
    OwnNode(Arc<str>),
    Busy(String),
    RefreshRunning,
}

impl Refusal {
    /// The reason as it is stored. Reasons are never renamed.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::Unreachable(_) => "Unreachable",
            Self::Empty => "Empty",
            Self::Deleting => "Deleting",
            Self::Suspended(_) => "Suspended",
            Self::WarmPool => "WarmPool",
            Self::Protected(_) => "Protected",
            Self::OutOfService(_) => "OutOfService",
            Self::ManagedByEks => "ManagedByEks",
            Self::OwnNode(_) => "OwnNode",
            Self::Busy(_) => "Busy",
            Self::RefreshRunning => "RefreshRunning",
        }
    }
}

/// The recycle to begin with. `is_active` is whether a recycle is stored anywhere: the mark of an EventRecycler that
/// belongs to none is resumed.
pub fn begin(
    request: &Request,
    group: &Group,
    nodes: &BTreeMap<InstanceId, Arc<Node>>,
    own_node: Option<&str>,
    is_active: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Result<Recycle, Refusal> {
    if group.deleting {
        return Err(Refusal::Deleting);
    }
    let GroupRef { region, name } = &request.group;
    if let Some(text) = &group.mark {
        let abandoned = |mark: &Mark| mark.is_of_a_recycler() && !is_active(&mark.id);
        let mark = Mark::read(text).filter(abandoned);
        let mark = mark.ok_or_else(|| Refusal::Busy(text.clone()))?;
        return Ok(mark.resume(region, &name.0, request.events, now));
    }
    if let Some(refusal) = refusal(request.strategy, group, nodes, own_node) {
        return Err(refusal);
    }
    Ok(Recycle {
        id: id(&request.requested_by, now),
        group: name.to_string(),
        region: region.to_string(),
        strategy: request.strategy,
        step: Step::Planned,
        original: group.sizes,
        instances: instances(group, nodes),
        refresh_before: group.refresh.as_ref().map(|refresh| refresh.id.to_string()),
        started: now,
        step_since: now,
        called_until: None,
        events: request.events,
        failure: None,
        message: None,
    })
}

pub(super) fn refusal(
    strategy: Strategy,
    group: &Group,
    nodes: &BTreeMap<InstanceId, Arc<Node>>,
    own_node: Option<&str>,
) -> Option<Refusal> {
    let mut going = group.members.iter().filter(|member| !member.lifecycle.is_leaving());
    if going.clone().next().is_none() {
        return Some(Refusal::Empty);
    }
    let refreshes = strategy == Strategy::InstanceRefresh;
    let refresh = || suspended(group, &["InstanceRefresh"]).filter(|_| refreshes);
    if let Some(process) = suspended(group, &REPLACES).or_else(refresh) {
        return Some(Refusal::Suspended(process));
    }
    if group.refresh.as_ref().is_some_and(|refresh| refresh.status.is_running()) {
        return Some(Refusal::RefreshRunning);
    }
    // Instances that a refresh replaces do not go back into the pool.
    if !refreshes && takes_back(group) {
        return Some(Refusal::WarmPool);
    }
    if strategy == Strategy::Replace {
        return None;
    }
    if let Some(member) = going.find(|member| is_spared(member)) {
        let id = member.id.clone();
        let protected = member.protected_from_scale_in;
        return Some(if protected { Refusal::Protected(id) } else { Refusal::OutOfService(id) });
    }
    let own = group.members.iter().filter_map(|member| nodes.get(&member.id));
    let own = own.map(|node| &node.meta.key.name).find(|name| Some(&***name) == own_node);
    if let Some(name) = own {
        return Some(Refusal::OwnNode(Arc::clone(name)));
    }
    (strategy == Strategy::ScaleToZero && group.managed_by_eks).then_some(Refusal::ManagedByEks)
}

pub(super) fn instances(
    group: &Group,
    nodes: &BTreeMap<InstanceId, Arc<Node>>,
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

/// Unique for the group: an EventRecycler begins at most one recycle of a group per second.
fn id(requested_by: &Uid, now: Timestamp) -> String {
    let uid: String = requested_by.0.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    format!("{uid}-{}", now.as_second())
}

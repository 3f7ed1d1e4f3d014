//! The health of one Machine. Pure. Not here: whether it is remediated (`decide.rs`).
//!
//! The order is OpenShift's: phase, startup, a Node that is gone, conditions. Other than there, the startup timeout
//! counts from the creation of the instance or Machine, not from its last update.

use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::machine::Phase;

use super::snapshot::{Member, NodeView, has_external_annotation, started};
use crate::kinds::{Machine, MachineHealthCheck, Node};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Healthy,
    Deleting,
    /// The Machine or its Node cannot be decoded.
    Unknown,
    /// Metal3 remediates it.
    External,
    /// It has no Node yet. It becomes unhealthy at that time, or never.
    Booting(Option<Timestamp>),
    /// It becomes unhealthy at that time.
    Suspect(Cause, Timestamp),
    /// Since that time, if it is known.
    Unhealthy(Cause, Option<Timestamp>),
}

/// What is wrong with a Machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    Failed,
    /// There was no Node for this time.
    NoNode(Duration),
    /// The Node of this name does not exist.
    NodeGone(String),
    /// A condition of the Node, and how long it must last.
    Condition {
        kind: String,
        status: String,
        timeout: Duration,
    },
}

impl Health {
    pub fn is_unhealthy(&self) -> bool {
        matches!(self, Self::Unhealthy(..))
    }
}

/// `check` must be valid: an invalid timeout never ends.
pub(super) fn of(check: &MachineHealthCheck, member: &Member, now: Timestamp) -> Health {
    if member.meta.deleting {
        return Health::Deleting;
    }
    let Some(machine) = &member.machine else { return Health::Unknown };
    if machine.status.phase == Some(Phase::Failed) {
        return Health::Unhealthy(Cause::Failed, None);
    }
    let health = match &member.node {
        NodeView::None => without_node(check, member, machine, now),
        NodeView::Gone => {
            let name = machine.status.node_ref.as_ref().map(|node| node.name.to_string());
            Health::Unhealthy(Cause::NodeGone(name.unwrap_or_default()), None)
        }
        NodeView::Undecodable => Health::Unknown,
        NodeView::Known(node) => with_node(check, member, node, now),
    };
    if health == Health::Healthy && has_external_annotation(machine) {
        return Health::External;
    }
    health
}

fn without_node(
    check: &MachineHealthCheck,
    member: &Member,
    machine: &Machine,
    now: Timestamp,
) -> Health {
    let Ok(Some(timeout)) = check.node_startup_timeout else { return Health::Booting(None) };
    let since = member.since(Some(started(machine)), now);
    match after(since, timeout) {
        Some(end) if end <= now => Health::Unhealthy(Cause::NoNode(timeout), Some(since)),
        end => Health::Booting(end),
    }
}

/// The condition whose timeout ends first decides.
fn with_node(check: &MachineHealthCheck, member: &Member, node: &Node, now: Timestamp) -> Health {
    let mut first = None;
    for rule in &check.unhealthy_conditions {
        let Ok(timeout) = rule.timeout else { continue };
        let same = |kind: &str, status: &str| kind == &*rule.kind && status == &*rule.status;
        let found = node.conditions.iter().find(|one| same(&one.state.kind, &one.state.status));
        let Some(condition) = found else { continue };
        let since = member.since(condition.since(), now);
        let Some(end) = after(since, timeout) else { continue };
        let (kind, status) = (rule.kind.to_string(), rule.status.to_string());
        let one = (end, since, Cause::Condition { kind, status, timeout });
        first = Some(first.map_or(one.clone(), |first| one.min(first)));
    }
    match first {
        None => Health::Healthy,
        Some((end, since, cause)) if end <= now => Health::Unhealthy(cause, Some(since)),
        Some((end, _, cause)) => Health::Suspect(cause, end),
    }
}

fn after(since: Timestamp, timeout: Duration) -> Option<Timestamp> {
    since.checked_add(timeout).ok()
}

//! The next write of a preservation: the stored end, what the Node gets, the drain of a failed one; or their removal.
//! What is on the Node is known by itself, so neither order nor a repetition matters.

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_PRESERVED_UNTIL, NO_SCHEDULE, TAINT_PRESERVED};
use serde_json::{Map, Value, json};

use super::super::plan::Plan;
use super::super::preservation::{Standing, has_taint, is_preserved_taint};
use super::super::snapshot::View;
use crate::kinds::{Node, Taint};
use crate::{drain, scale_down};

/// The name under which the autoscaler's annotation is held.
const HOLDER: &str = "machine";

pub(super) fn decide(view: &View, now: Timestamp) -> Option<Plan> {
    let standing = view.preservation(now);
    if let Standing::Begins(until) = standing {
        return Some(Plan::Preserve(until));
    }
    if let Some(plan) = mark_node(view, standing) {
        return Some(plan);
    }
    match standing {
        Standing::Off if view.machine.annotations.contains(ANNOTATION_PRESERVED_UNTIL) => {
            Some(Plan::EndPreservation)
        }
        _ => None,
    }
}

/// Another machine API has taken the Machine over: what this one has put on the Node goes.
pub(super) fn release(view: &View) -> Option<Plan> {
    mark_node(view, Standing::Off)
}

fn mark_node(view: &View, standing: Standing) -> Option<Plan> {
    let node =
        view.node.as_deref().filter(|node| !node.meta.deleting && view.unmarked.is_none())?;
    let patch = node_patch(node, standing)?;
    Some(Plan::MarkNode { node: node.meta.clone(), patch })
}

/// Drains the Node of a failed Machine that is kept, while nothing else has to be written.
pub(super) fn drain(view: &View, plan: Plan, now: Timestamp) -> Plan {
    let is_quiet = matches!(
        plan,
        Plan::NoOp(_) | Plan::UpdateStatus(_) | Plan::AwaitCloud | Plan::Wait(_) | Plan::Refuse(_)
    );
    match &view.drain {
        Some(drained) if is_quiet && view.drains_preserved(now) => {
            Plan::DrainPreserved { drain: drain::decide(drained, now), rest: Box::new(plan) }
        }
        _ => plan,
    }
}

/// A patch of this version of the Node, if it differs.
fn node_patch(node: &Node, standing: Standing) -> Option<Value> {
    let (kept, failed) = match standing {
        Standing::Kept { failed, .. } => (true, failed),
        _ => (false, false),
    };
    let mut patch = Value::Null;
    let change = scale_down::change(node, HOLDER, kept);
    if !change.is_empty() {
        let annotations: Map<_, _> =
            change.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        patch["metadata"]["annotations"] = Value::Object(annotations);
    }
    if has_taint(node) != failed {
        let others = node.taints.iter().filter(|taint| !is_preserved_taint(taint));
        let own = failed.then(|| Taint {
            key: TAINT_PRESERVED.into(),
            value: None,
            effect: NO_SCHEDULE.into(),
            time_added: None,
        });
        let taints = others.cloned().chain(own).map(|taint| taint.to_json());
        patch["spec"]["taints"] = taints.collect();
    }
    (!patch.is_null()).then_some(patch)
}

#[cfg(test)]
mod tests;

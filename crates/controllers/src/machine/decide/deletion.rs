//! Deletes in this order: drain, hooks, instance, Node, finalizer. Each step is stored before the next one is taken.

use jiff::Timestamp;
use machinist_domain::observed::Observed;

use super::super::plan::{Plan, Reason};
use super::super::snapshot::View;
use super::{record, unknown};
use crate::drain;

/// A missing label or an invalid spec blocks a deletion only if something may be left in the cloud.
pub(super) fn decide(view: &View, now: Timestamp) -> Plan {
    if !view.machine.has_finalizer() {
        return Plan::NoOp(Reason::Deleting);
    }
    if !view.is_drained() {
        return match &view.drain {
            Some(drained) => Plan::Drain(drain::decide(drained, now)),
            None => Plan::AwaitCloud,
        };
    }
    if !view.machine.hooks.pre_terminate.is_empty() {
        return Plan::AwaitHooks;
    }
    if !view.is_gone() {
        return terminate(view);
    }
    match view.node.as_ref().filter(|node| !node.meta.deleting) {
        Some(node) => Plan::RemoveNode(node.meta.clone()),
        None => Plan::Release,
    }
}

fn terminate(view: &View) -> Plan {
    if view.has_nothing_to_remove() {
        return Plan::NothingToRemove;
    }
    match (&view.reach, &view.pause) {
        (None, _) => Plan::AwaitCloud,
        (Some(Err(refusal)), _) => Plan::Refuse(refusal.clone()),
        (Some(Ok(_)), Some(pause)) => Plan::Pause(pause.clone()),
        (Some(Ok(_)), None) => identify(view).unwrap_or(Plan::Terminate),
    }
}

/// Records an instance whose create request was not answered before deleting it: its Node is found by its id.
fn identify(view: &View) -> Option<Plan> {
    if !view.may_have_unrecorded_instance() {
        return None;
    }
    match &view.observed {
        Observed::NotAsked => Some(Plan::AwaitCloud),
        Observed::Unknown(failure) => Some(unknown(view, failure)),
        Observed::Present(instance) => {
            record::difference(&view.machine, instance).map(Plan::Record)
        }
        Observed::Absent => None,
    }
}

//! The condition `Ready`: a reason of a closed list and a message.

use jiff::Timestamp;
use machinist_api::names::{CONDITION_READY, SEVERITY_ERROR, SEVERITY_INFO, SEVERITY_WARNING};
use machinist_domain::conditions::Condition;
use machinist_domain::machine::Phase;
use machinist_domain::retry::{Category, Classified as _};
use machinist_provider::cloud::{CloudError, Instance, InstanceState};

use super::super::messages;
use super::super::snapshot::View;
use super::facts::Facts;
use crate::kinds::{Hook, Ready};

const CREATING: &str = "Creating";
const DELETING: &str = "Deleting";
pub(super) const FAILED: &str = "Failed";
const WAITING_FOR_NODE: &str = "WaitingForNode";
const INSTANCE_PENDING: &str = "InstancePending";
const INSTANCE_STOPPED: &str = "InstanceStopped";
/// Not by this controller.
const INSTANCE_TERMINATING: &str = "InstanceTerminating";
const NODE_MISSING: &str = "NodeMissing";
const NODE_NOT_READY: &str = "NodeNotReady";
const UPDATE_FAILED: &str = "UpdateFailed";
const DELETION_FAILED: &str = "DeletionFailed";
const WAITING_FOR_HOOKS: &str = "WaitingForHooks";

/// Adds to the message that the creation exceeds its limit. The reason stays, and the creation goes on.
pub(super) fn check_creation_limit(view: &View, facts: &mut Facts, now: Timestamp) {
    let still_coming = !matches!(facts.phase, Some(Phase::Running | Phase::Failed));
    facts.is_late = view.is_overdue(now) && still_coming;
    let Some(ready) = facts.ready.take_if(|_| facts.is_late) else { return };
    let known = view.machine.condition(CONDITION_READY);
    let failed = known.filter(|known| known.severity.as_deref() == Some(SEVERITY_WARNING));
    // A new attempt must not hide the last error.
    let is_progress = ready.reason.as_deref() == Some(CREATING);
    facts.ready = Some(match failed {
        Some(failed) if is_progress => failed.clone(),
        _ => {
            let last = ready.message.as_deref().unwrap_or_default();
            let message = messages::late(last, view.rules.timings.creation).into();
            Condition { severity: Some(SEVERITY_WARNING.into()), message: Some(message), ..ready }
        }
    });
}

pub(super) fn creating() -> Condition {
    no(SEVERITY_INFO, CREATING, messages::CREATING)
}

pub(super) fn deleting(message: impl Into<Box<str>>) -> Condition {
    no(SEVERITY_INFO, DELETING, message)
}

pub(super) fn hooked(hooks: &[Hook]) -> Condition {
    no(SEVERITY_INFO, WAITING_FOR_HOOKS, messages::waiting_for_hooks(hooks))
}

pub(super) fn not_terminated(instance: Option<&str>, error: &CloudError) -> Condition {
    let severity = match error.category() {
        Category::Unauthorised | Category::InvalidConfiguration => SEVERITY_ERROR,
        _ => SEVERITY_WARNING,
    };
    no(severity, DELETION_FAILED, messages::not_deleted(instance, &error.message))
}

pub(in crate::machine) fn is_without_node(ready: &Condition) -> bool {
    ready.reason.as_deref() == Some(NODE_MISSING)
}

pub(super) fn runs_well(ready: &Condition) -> bool {
    ready.is_true() || ready.reason.as_deref() == Some(UPDATE_FAILED)
}

/// `Ready` of a Machine whose instance exists. Unrepaired drift is added unless something worse is reported.
pub(super) fn seen(view: &View, instance: &Instance, drift: Option<&str>) -> Condition {
    let seen = without_drift(view, instance);
    match drift {
        Some(why) if seen.is_true() => no(SEVERITY_WARNING, UPDATE_FAILED, messages::drift(why)),
        // The drift, such as a missing load balancer target, may be why no Node registers.
        Some(why) if seen.reason.as_deref() == Some(WAITING_FOR_NODE) => {
            no(SEVERITY_WARNING, WAITING_FOR_NODE, messages::waiting_for_node_with_drift(why))
        }
        _ => seen,
    }
}

fn without_drift(view: &View, instance: &Instance) -> Condition {
    let node_is_ready = view.node.as_ref().is_some_and(|node| node.is_ready());
    match instance.state {
        // A ready Node is newer than the observation of the instance.
        InstanceState::Pending if view.machine.status.node_ref.is_some() && node_is_ready => {}
        InstanceState::Pending => {
            return no(SEVERITY_INFO, INSTANCE_PENDING, messages::pending(instance));
        }
        InstanceState::Stopped => {
            return no(SEVERITY_WARNING, INSTANCE_STOPPED, messages::stopped(instance));
        }
        InstanceState::Terminating | InstanceState::Terminated => {
            return no(SEVERITY_WARNING, INSTANCE_TERMINATING, messages::terminating(instance));
        }
        InstanceState::Running => {}
    }
    let Some(named) = &view.machine.status.node_ref else {
        return no(SEVERITY_INFO, WAITING_FOR_NODE, messages::WAITING_FOR_NODE);
    };
    let (reason, text) = match view.node.as_ref().map(|node| node.readiness.status) {
        Some(Ready::Yes) => return Condition::yes(CONDITION_READY),
        Some(Ready::No) => (NODE_NOT_READY, messages::node_not_ready(&named.name)),
        Some(Ready::Unknown) => (NODE_NOT_READY, messages::node_unknown(&named.name)),
        None => (NODE_MISSING, messages::node_missing(&named.name)),
    };
    no(SEVERITY_WARNING, reason, text)
}

pub(super) fn no(
    severity: &'static str,
    reason: &'static str,
    message: impl Into<Box<str>>,
) -> Condition {
    Condition::no(CONDITION_READY, severity, reason, message)
}

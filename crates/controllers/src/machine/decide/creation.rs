//! The way up: from a new object to an instance that is recorded on it.
//!
//! Nothing is created before what it needs is stored, and another attempt is begun only when nothing will ever come of the one before.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_INSTANCE_STATE, INSTANCE_STATE_UNKNOWN};
use machinist_domain::machine::Phase;
use machinist_domain::retry::{Failure, Retry};
use machinist_provider::cloud::{Instance, InstanceState, Sighting};
use serde_json::json;

use super::super::error::{Fatal, Refusal};
use super::super::plan::{Leave, Plan};
use super::super::snapshot::{Gate, View};
use super::record;

/// Decides about a machine that is to be there.
pub(super) fn decide(view: &View, now: Timestamp) -> Plan {
    let machine = &view.machine;
    if machine.status.phase == Some(Phase::Failed) {
        return failed(view);
    }
    if !machine.has_finalizer() {
        return Plan::AddFinalizer;
    }
    if let Some(fatal) = out_of_time(view, now) {
        return Plan::Fail(fatal);
    }
    if !view.has_cluster_label() {
        return Plan::Refuse(Refusal::NoClusterLabel);
    }
    let Some(reach) = &view.reach else { return Plan::Look };
    if let Err(refusal) = reach {
        let hopeless = refusal.is_terminal() && view.is_untouched();
        return if hopeless {
            Plan::Fail(Fatal::InvalidConfiguration(refusal.to_string()))
        } else {
            Plan::Refuse(refusal.clone())
        };
    }
    match &view.sighting {
        Sighting::Present(instance) => present(view, instance),
        Sighting::Unknown(Failure { retry: Retry::Again(wait), .. }) => {
            Plan::Wait((*wait).min(view.rules.timings.poll))
        }
        Sighting::Unknown(failure) => Plan::Refuse(Refusal::CouldNotLook(failure.clone())),
        Sighting::NotAsked if view.must_look() => Plan::Look,
        Sighting::Absent if view.had_instance() => vanished(view, now),
        Sighting::NotAsked | Sighting::Absent => create(view),
    }
}

/// The instance of a machine that failed is nobody's business any more: what is said about it would only mislead.
fn failed(view: &View) -> Plan {
    let said = view.machine.annotations.get(ANNOTATION_INSTANCE_STATE);
    if said == Some(INSTANCE_STATE_UNKNOWN) || !view.had_instance() {
        return Plan::Leave(Leave::Failed);
    }
    let annotations = json!({ANNOTATION_INSTANCE_STATE: INSTANCE_STATE_UNKNOWN});
    Plan::Record(json!({"metadata": {"annotations": annotations}}))
}

/// Whether the machine says itself that its creation has taken too long.
fn out_of_time(view: &View, now: Timestamp) -> Option<Fatal> {
    let (limit, text) = view.own_creation_limit()?;
    if !view.is_coming() || now.duration_since(view.machine.created) < limit {
        return None;
    }
    let joined = view.had_instance();
    let text = text.to_owned();
    Some(if joined { Fatal::NotJoinedInTime(text) } else { Fatal::NotCreatedInTime(text) })
}

fn present(view: &View, instance: &std::sync::Arc<Instance>) -> Plan {
    if instance.state == InstanceState::Terminated {
        let why = instance.state_reason.as_deref().unwrap_or("nobody says why");
        return Plan::Fail(Fatal::Vanished(format!(": {} is terminated: {why}", instance.id)));
    }
    if let Some(patch) = record::difference(&view.machine, instance) {
        return Plan::Record(patch);
    }
    let may_repair = view.unrepaired.as_ref().is_none_or(|last| last.wait.is_zero());
    match (&instance.drift, &view.gate) {
        (Some(drift), Gate::Open) if may_repair => Plan::Repair(drift.clone()),
        _ => Plan::Tell(std::sync::Arc::clone(instance)),
    }
}

/// The cloud says that there is no instance, and there was one. A young one may be invisible.
fn vanished(view: &View, now: Timestamp) -> Plan {
    let age = Duration::try_from(now.duration_since(view.seen_since())).unwrap_or_default();
    let grace = view.rules.timings.consistency;
    if let Some(left) = grace.checked_sub(age).filter(|left| !left.is_zero()) {
        return Plan::Wait(left);
    }
    let id = view.machine.provider_id.as_deref();
    Plan::Fail(Fatal::Vanished(id.map(|id| format!(" {id}")).unwrap_or_default()))
}

/// There is no instance, and there was none. An attempt that was refused for good was looked for before this; the next one waits only for what
/// holds wherever it goes.
fn create(view: &View) -> Plan {
    if let Gate::Closed { wait, why } = &view.gate {
        return Plan::Pause { wait: *wait, why: why.clone() };
    }
    match view.attempt() {
        None => Plan::Prepare { attempt: 1 },
        Some(attempt) if view.refused_attempt == Some(attempt) => {
            Plan::Prepare { attempt: attempt.saturating_add(1) }
        }
        Some(attempt) => Plan::Create { attempt },
    }
}

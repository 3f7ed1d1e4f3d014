//! From a new Machine to a recorded instance. The launch is stored before the instance is created. A new attempt
//! starts only after the last one is known to have no instance.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_INSTANCE_STATE, INSTANCE_STATE_UNKNOWN};
use machinist_domain::machine::Phase;
use machinist_domain::observed::Observed;
use machinist_provider::cloud::{Instance, InstanceState};
use serde_json::json;

use super::super::error::{Fatal, Refusal};
use super::super::plan::{Plan, Reason};
use super::super::snapshot::View;
use super::{record, unknown};

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
    if machine.cluster_label().is_none() {
        return Plan::Refuse(Refusal::NoClusterLabel);
    }
    let Some(reach) = &view.reach else { return Plan::AwaitCloud };
    if let Err(refusal) = reach {
        let hopeless = refusal.is_terminal() && view.is_untouched();
        return if hopeless {
            Plan::Fail(Fatal::InvalidConfiguration(refusal.to_string()))
        } else {
            Plan::Refuse(refusal.clone())
        };
    }
    match &view.observed {
        Observed::Present(instance) => present(view, instance),
        Observed::Unknown(failure) => unknown(view, failure),
        Observed::NotAsked if view.must_look() => Plan::AwaitCloud,
        Observed::Absent if view.had_instance() => missing(view, now),
        Observed::NotAsked | Observed::Absent => create(view),
    }
}

/// The instance of a failed Machine is not observed any more, so its recorded state becomes Unknown.
fn failed(view: &View) -> Plan {
    let state = view.machine.annotations.get(ANNOTATION_INSTANCE_STATE);
    if state == Some(INSTANCE_STATE_UNKNOWN) || !view.had_instance() {
        return Plan::NoOp(Reason::Failed);
    }
    let annotations = json!({ANNOTATION_INSTANCE_STATE: INSTANCE_STATE_UNKNOWN});
    Plan::Record(json!({"metadata": {"annotations": annotations}}))
}

fn out_of_time(view: &View, now: Timestamp) -> Option<Fatal> {
    let (limit, text) = view.own_creation_limit()?;
    if !view.is_provisioning() || now.duration_since(view.machine.created) < limit {
        return None;
    }
    let joined = view.had_instance();
    let text = text.to_owned();
    Some(if joined { Fatal::NotJoinedInTime(text) } else { Fatal::NotCreatedInTime(text) })
}

fn present(view: &View, instance: &Arc<Instance>) -> Plan {
    if instance.state == InstanceState::Terminated {
        let (id, reason) = ((&*instance.id).into(), instance.state_reason.as_deref());
        return Plan::Fail(Fatal::Terminated { id, reason: reason.map(Into::into) });
    }
    if let Some(patch) = record::difference(&view.machine, instance) {
        return Plan::Record(patch);
    }
    let may_repair = view.unrepaired.as_ref().is_none_or(|last| last.wait.is_zero());
    match (&instance.drift, &view.pause) {
        (Some(drift), None) if may_repair => Plan::Repair(drift.clone()),
        _ => Plan::UpdateStatus(Arc::clone(instance)),
    }
}

/// The instance existed and is not found. A young instance may not be visible yet.
fn missing(view: &View, now: Timestamp) -> Plan {
    let age = Duration::try_from(now.duration_since(view.seen_since())).unwrap_or_default();
    let grace = view.rules.timings.consistency;
    if let Some(left) = grace.checked_sub(age).filter(|left| !left.is_zero()) {
        return Plan::Wait(left);
    }
    Plan::Fail(Fatal::Missing(view.machine.provider_id.as_deref().map(Into::into)))
}

/// There is no instance and there was none. `must_look` has made sure of that for a refused attempt.
fn create(view: &View) -> Plan {
    if let Some(pause) = &view.pause {
        return Plan::Pause(pause.clone());
    }
    match view.attempt() {
        None => Plan::Prepare { attempt: 1 },
        Some(attempt) if view.refused_attempt == Some(attempt) => {
            Plan::Prepare { attempt: attempt.saturating_add(1) }
        }
        Some(attempt) => Plan::Create { attempt },
    }
}

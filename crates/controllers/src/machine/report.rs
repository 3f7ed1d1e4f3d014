//! Reports a reconcile of a Machine: status, Events and requeue.
//!
//! [`facts`] determines the new state; [`ready`] the condition `Ready`; [`mod@status`] the patch of the fields that
//! differ; [`events`] the Events.

mod events;
mod facts;
mod ready;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Classified as _, Retry};
use machinist_provider::cloud::{Deletion, Instance, InstanceState};
use serde_json::Value;

use self::facts::Facts;
use super::messages;
use super::plan::{Outcome, Plan};
use super::snapshot::{Content, Snapshot, View};

/// Reports.
pub fn report(snapshot: &Snapshot, plan: &Plan, outcome: &Outcome, now: Timestamp) -> Report {
    let view = match &snapshot.content {
        Content::Read(view) => view,
        Content::Undecodable(error) => return undecodable(error),
    };
    let facts = Facts::after(view, plan, outcome, now);
    let status = match outcome {
        // Written by `act`, with the launch.
        Outcome::Prepared(_) => None,
        _ => status::patch(view, &facts, now),
    };
    Report {
        result: result(plan, outcome, status.is_some()),
        events: events::events(view, plan, outcome, &facts),
        retry: retry(view, plan, outcome, &facts, now),
        status,
    }
}

/// The status patch after this outcome. `act` uses it to store a launch together with the rest of the status.
pub(super) fn status(view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) -> Option<Value> {
    status::patch(view, &Facts::after(view, plan, outcome, now), now)
}

fn undecodable(error: &str) -> Report {
    let text = messages::undecodable(error);
    let note = EventNote::warning(EventReason::ReconcileError, "Validate", text);
    let (result, retry) = (ReconcileResult::Refused, Some(Retry::OnChange));
    Report { events: vec![note], retry, ..Report::quiet(result) }
}

fn result(plan: &Plan, outcome: &Outcome, writes: bool) -> ReconcileResult {
    match (outcome, plan) {
        (Outcome::Paused { .. }, _)
        | (
            Outcome::Done,
            Plan::AwaitCloud
            | Plan::Wait(_)
            | Plan::Pause { .. }
            | Plan::AwaitHooks
            | Plan::RemoveNode(_),
        ) => ReconcileResult::Waiting,
        (Outcome::Done, Plan::Refuse(_)) => ReconcileResult::Refused,
        (
            Outcome::NotCreated(_)
            | Outcome::NotRepaired(_)
            | Outcome::NotTerminated(_)
            | Outcome::Failed(_),
            _,
        ) => ReconcileResult::Failed,
        (Outcome::DryRun | Outcome::Drained(_), _)
        | (Outcome::Done, Plan::NoOp(_) | Plan::UpdateStatus(_))
            if !writes =>
        {
            ReconcileResult::Settled
        }
        _ => ReconcileResult::Changed,
    }
}

/// When to requeue. Most of what a Machine waits for is watched; clouds and deadlines are polled.
fn retry(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    facts: &Facts,
    now: Timestamp,
) -> Option<Retry> {
    let poll = view.rules.timings.poll;
    let retry = match (outcome, plan) {
        (Outcome::Done, Plan::Wait(wait) | Plan::Pause { wait, .. })
        | (Outcome::Paused { wait, .. }, _) => Some(Retry::Again(*wait)),
        (Outcome::Done, Plan::Refuse(refusal)) => Some(refusal.retry()),
        // A Node that the Machine does not name does not requeue it when it is gone.
        (Outcome::Done, Plan::RemoveNode(_)) => Some(Retry::Again(Duration::ZERO)),
        (Outcome::Done, Plan::UpdateStatus(_)) if facts.is_settling => Some(Retry::Again(poll / 4)),
        (Outcome::Done, Plan::UpdateStatus(instance)) | (Outcome::Repaired(instance), _) => {
            observe_again(view, instance, facts).map(Retry::Again)
        }
        (Outcome::Terminating(Deletion::UnderWay(_)), _) => Some(Retry::Again(poll)),
        (Outcome::NotCreated(_), _) if facts.fatal.is_some() => None,
        (
            Outcome::NotCreated(error)
            | Outcome::NotRepaired(error)
            | Outcome::NotTerminated(error),
            _,
        ) => Some(match error.retry() {
            // No watch reports that the cloud would answer differently.
            Retry::OnChange => Retry::Backoff,
            retry => retry,
        }),
        (Outcome::Drained(outcome), Plan::Drain(plan)) => plan.again(outcome).map(Retry::Again),
        (Outcome::Failed(failure), _) => Some(failure.retry),
        _ => None,
    };
    match (retry, facts.time_left(view, now)) {
        (None | Some(Retry::OnChange), Some(left)) => Some(Retry::Again(left)),
        (Some(Retry::Again(wait)), Some(left)) => Some(Retry::Again(wait.min(left))),
        (retry, _) => retry,
    }
}

/// When to read the state of the instance again: it is not running, its Node is not well (so it may be gone),
/// the observation is uncertain, or its drift is to be repaired.
fn observe_again(view: &View, instance: &Instance, facts: &Facts) -> Option<Duration> {
    let poll = view.rules.timings.poll;
    let runs = instance.state == InstanceState::Running;
    let well = facts.ready.as_ref().is_some_and(ready::runs_well);
    let look = (!runs || !well || instance.uncertain).then_some(poll);
    let pause = view.unrepaired.as_ref().map(|last| last.wait);
    let pause = pause.filter(|wait| !wait.is_zero()).unwrap_or(poll);
    let repair = instance.drift.as_ref().map(|_| pause);
    look.into_iter().chain(repair).min()
}

#[cfg(test)]
mod tests;

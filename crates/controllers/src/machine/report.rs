//! [`facts`] determines what plan and outcome mean for status, Events and requeue; [`ready`] and [`instance_exists`]
//! are conditions; [`mod@status`] is the patch of the fields that differ.

mod facts;
mod instance_exists;
mod preserved;
mod ready;
mod status;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_CREATION_TIMEOUT, ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_HEALTH_TIMEOUT,
    ANNOTATION_PRESERVE_TIMEOUT,
};
use machinist_domain::machine::Phase;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::Retry;
use serde_json::Value;

use self::facts::Facts;
pub(super) use self::ready::is_without_node;
use super::messages;
use super::plan::{Outcome, Plan};
use super::snapshot::{Snapshot, View};
use crate::drain::Timeout;
use crate::preservation::Request;

pub(super) fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    let view = match &snapshot.view {
        Ok(view) => view,
        Err(error) => return undecodable(error),
    };
    let facts = Facts::after(view, plan, outcome, now);
    let patch = status::patch(view, &facts, now);
    let preserved = match (plan, outcome) {
        (Plan::EndPreservation, Outcome::Done) => preserved::event_of_end(view),
        _ => patch.as_ref().and_then(|_| preserved::event(view, &facts, now)),
    };
    let status = match outcome {
        // Written by `act`, with the launch.
        Outcome::Prepared(_) => None,
        _ => patch,
    };
    let result = match facts.result {
        Some(ReconcileResult::Settled) if status.is_some() => ReconcileResult::Changed,
        result => result.unwrap_or(ReconcileResult::Changed),
    };
    let left = time_left(view, facts.phase, now).into_iter();
    let unmarked = view.unmarked.as_ref().map(|unmarked| unmarked.wait);
    let left = left.chain(view.preservation_changes_in(now)).chain(unmarked).min();
    let retry = match (facts.retry, left) {
        (None | Some(Retry::OnChange), Some(left)) => Some(Retry::Again(left)),
        (Some(Retry::Again(wait)), Some(left)) => Some(Retry::Again(wait.min(left))),
        (retry, _) => retry,
    };
    let mut events = events(view, facts);
    events.extend(preserved);
    Report { result, events, retry, status }
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

fn events(view: &View, facts: Facts) -> Vec<EventNote> {
    let mut events = facts.events;
    if facts.fatal.is_some() {
        return events;
    }
    if facts.is_late
        && let Some(reason) = facts.ready.as_ref().and_then(|ready| ready.reason.as_deref())
    {
        let note = messages::creation_timed_out(view.rules.timings.creation, reason);
        events.insert(0, EventNote::warning(EventReason::CreationTimedOut, "Create", note));
    }
    let limit = view.machine.annotations.get(ANNOTATION_CREATION_TIMEOUT);
    if let Some(text) = limit.filter(|text| text.parse::<SignedDuration>().is_err()) {
        let note = messages::bad_creation_timeout(text);
        events.push(EventNote::warning(EventReason::FailedValidate, "Validate", note));
    }
    let timeout = view.machine.annotations.get(ANNOTATION_DRAIN_TIMEOUT);
    if let Some(text) = timeout.filter(|text| Timeout::read(text).is_none()) {
        let note = messages::bad_drain_timeout(text);
        events.push(EventNote::warning(EventReason::FailedValidate, "Validate", note));
    }
    for name in [ANNOTATION_PRESERVE_TIMEOUT, ANNOTATION_HEALTH_TIMEOUT] {
        let text = view.machine.annotations.get(name);
        if let Some(text) = text.filter(|_| view.duration(name).is_none()) {
            let note = messages::bad_duration(name, text);
            events.push(EventNote::warning(EventReason::FailedValidate, "Validate", note));
        }
    }
    if let Request::Invalid(value) = view.preserve_request() {
        let note = messages::bad_preserve(value);
        events.push(EventNote::warning(EventReason::FailedValidate, "Validate", note));
    }
    events
}

/// The time until a creation limit is over; `None` if none applies any more.
fn time_left(view: &View, phase: Option<Phase>, now: Timestamp) -> Option<Duration> {
    let coming = matches!(phase, None | Some(Phase::Provisioning | Phase::Provisioned));
    let age = Duration::try_from(now.duration_since(view.machine.created)).unwrap_or_default();
    let own = view.own_creation_limit().and_then(|(limit, _)| limit.try_into().ok());
    let limits = [Some(view.rules.timings.creation), own].into_iter().flatten();
    let left = limits.filter_map(|limit: Duration| limit.checked_sub(age));
    left.filter(|left| coming && !left.is_zero()).min()
}

#[cfg(test)]
mod tests;

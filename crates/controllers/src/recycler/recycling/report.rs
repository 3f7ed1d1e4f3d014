//! Reports a reconcile of a recycle: what to store, Events, and when to requeue.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, Step};
use machinist_domain::report::{EventNote, EventReason};
use machinist_domain::retry::Retry;
use machinist_provider::node_groups::InstanceId;

use super::messages;
use super::plan::{Action, Outcome, Plan};
use super::snapshot::Snapshot;
use crate::drain;
use crate::recycler::report::ACTION;

#[derive(Debug, Clone, PartialEq)]
pub struct RecycleReport {
    /// The recycle to store. One that is over belongs to the history.
    pub recycle: Recycle,
    pub events: Vec<EventNote>,
    pub trouble: Option<String>,
    pub retry: Option<Retry>,
}

pub fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> RecycleReport {
    let before = &snapshot.recycle;
    let poll = snapshot.settings.poll;
    let quiet =
        |retry| RecycleReport { recycle: before.clone(), events: Vec::new(), trouble: None, retry };
    match (&plan.action, outcome) {
        (Action::Store(after), _) => {
            let retry = (!after.step.is_over()).then_some(Retry::Again(Duration::ZERO));
            let (recycle, events) = ((**after).clone(), events(before, after));
            RecycleReport { recycle, events, ..quiet(retry) }
        }
        (Action::Over, _) => quiet(None),
        (Action::Wait { pause, why }, _) => {
            let why = drained(snapshot, plan, &[], now).0.unwrap_or_else(|| why.clone());
            with_message(quiet(Some(Retry::Again(*pause))), Some(why))
        }
        (_, Outcome::Failed(failure)) => {
            let retry = Some(retry_of(snapshot, failure.retry, now));
            let trouble = Some(failure.message.clone());
            let report = RecycleReport { trouble, ..quiet(retry) };
            with_message(report, Some(failure.message.clone()))
        }
        (_, Outcome::Outdated) => quiet(Some(Retry::Soon)),
        (_, Outcome::DryRun) => quiet(Some(Retry::Again(poll))),
        (Action::Drain, Outcome::Drained(done)) => {
            let (why, again) = drained(snapshot, plan, done, now);
            with_message(quiet(Some(Retry::Again(again.unwrap_or(poll)))), why)
        }
        (_, Outcome::Done | Outcome::Nothing | Outcome::Drained(_)) => {
            let settle = poll.min(snapshot.settings.settle);
            let pause = if plan.action.changes_cloud() { settle } else { Duration::ZERO };
            quiet(Some(Retry::Again(pause)))
        }
    }
}

/// Soon at first, later with every poll: a group that rejects a change may accept it later without any notification.
fn retry_of(snapshot: &Snapshot, retry: Retry, now: Timestamp) -> Retry {
    match retry {
        Retry::Backoff | Retry::OnChange => {
            let pause = snapshot.lasted(now) / 4;
            Retry::Again(pause.max(snapshot.settings.settle).min(snapshot.settings.poll))
        }
        Retry::After(_) | Retry::Soon | Retry::Again(_) => retry,
    }
}

/// Sets the message, unless it has the reason why the recycle is given up.
fn with_message(mut report: RecycleReport, why: Option<String>) -> RecycleReport {
    if report.recycle.failure.is_none() && why.is_some() {
        report.recycle.message = why;
    }
    report
}

/// What drains wait for after these results, and when to continue them. Those that are executed hide the others.
fn drained(
    snapshot: &Snapshot,
    plan: &Plan,
    done: &[(InstanceId, drain::Outcome)],
    now: Timestamp,
) -> (Option<String>, Option<Duration>) {
    let (mut messages, mut pauses) = (Vec::new(), Vec::new());
    let nothing = drain::Outcome::default();
    let all = plan.action != Action::Drain;
    for instance in &snapshot.recycle.instances {
        let id = InstanceId::from(instance.id.as_str());
        let drain = plan.drains.get(&id).filter(|drain| all || drain.has_effects());
        let (Some(drain), Some(view)) = (drain, snapshot.drains.get(&id)) else { continue };
        let done = done.iter().find(|(of, _)| *of == id).map_or(&nothing, |(_, done)| done);
        let condition = drain::report(view, drain, done, now).condition;
        if let Some(message) = condition.and_then(|condition| condition.message) {
            let node = snapshot.node(&id.0).map_or(&id.0, |node| &node.meta.key.name);
            messages.push(format!("{node}: {message}"));
        }
        pauses.extend(drain.again(done));
    }
    ((!messages.is_empty()).then(|| messages.join("; ")), pauses.into_iter().min())
}

fn events(before: &Recycle, after: &Recycle) -> Vec<EventNote> {
    let (group, why) = (after.group.as_str(), after.message.as_deref());
    let proceeds = |text| EventNote::normal(EventReason::RecycleProceeds, ACTION, text);
    let warns = |text| EventNote::warning(EventReason::RecycleProceeds, ACTION, text);
    let mut events = Vec::new();
    for instance in &after.instances {
        let former = before.instances.iter().find(|one| one.id == instance.id);
        if former.is_some_and(|former| former.state == instance.state) {
            continue;
        }
        events.extend(match instance.state {
            InstanceState::Waiting | InstanceState::Gone => None,
            InstanceState::Draining => Some(proceeds(messages::drains(group, instance))),
            InstanceState::Terminating => Some(proceeds(messages::terminates(group, instance))),
            InstanceState::Kept => Some(warns(messages::skips(group, instance))),
        });
    }
    if before.step == after.step {
        return events;
    }
    events.push(match (after.step, after.failure) {
        (Step::Succeeded, _) => {
            EventNote::normal(EventReason::Recycled, ACTION, messages::recycled(group))
        }
        (Step::Failed, failure) => {
            let text = messages::failed(group, failure, why);
            EventNote::warning(EventReason::RecycleFailed, ACTION, text)
        }
        (step, None) => proceeds(messages::at_step(group, step)),
        (step, Some(_)) => warns(messages::gives_up(group, step, why)),
    });
    events
}

#[cfg(test)]
mod tests;

//! Reports a reconcile of a recycle: what to store, Events, and when to requeue.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, Step};
use machinist_domain::report::{EventNote, EventReason};
use machinist_domain::retry::Retry;
use machinist_provider::node_groups::InstanceId;

use super::messages;
use super::plan::{Effect, Outcome, Plan};
use super::snapshot::Snapshot;
use crate::drain;
use crate::recycler::report::ACTION;

/// The report of a reconcile.
#[derive(Debug, Clone, PartialEq)]
pub struct RecycleReport {
    /// The recycle to store. One that is over belongs to the history.
    pub recycle: Recycle,
    /// Events.
    pub events: Vec<EventNote>,
    /// What blocks the recycle now, for a condition.
    pub trouble: Option<String>,
    /// When to requeue; `None` when it is over.
    pub retry: Option<Retry>,
}

/// Reports a reconcile.
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
    match (plan, outcome) {
        (Plan::Store(after), _) => {
            let retry = (!after.step.is_over()).then_some(Retry::Again(Duration::ZERO));
            RecycleReport {
                events: events(before, after),
                recycle: (**after).clone(),
                ..quiet(retry)
            }
        }
        (Plan::Over, _) => quiet(None),
        (Plan::Wait { pause, why }, _) => {
            let why = draining(snapshot, now).unwrap_or_else(|| why.clone());
            with_message(before, why, quiet(Some(Retry::Again(*pause))))
        }
        (Plan::Do(_), Outcome::Failed(failure)) => {
            let trouble = Some(failure.message.clone());
            let report =
                RecycleReport { trouble, ..quiet(Some(retry_of(snapshot, failure.retry, now))) };
            with_message(before, failure.message.clone(), report)
        }
        (Plan::Do(_), Outcome::Outdated) => quiet(Some(Retry::Soon)),
        (Plan::Do(_), Outcome::DryRun) => quiet(Some(Retry::Again(poll))),
        (Plan::Do(effect), Outcome::Drained(done)) => {
            let verdicts = match effect {
                Effect::Drain(verdicts) => verdicts.as_slice(),
                _ => &[],
            };
            let (why, again) = drained(snapshot, verdicts, done, now);
            let report = quiet(Some(Retry::Again(again.unwrap_or(poll))));
            match why {
                Some(why) => with_message(before, why, report),
                None => report,
            }
        }
        (Plan::Do(effect), Outcome::Done | Outcome::Nothing) => {
            let pause = if effect.changes_cloud() {
                poll.min(snapshot.settings.settle)
            } else {
                Duration::ZERO
            };
            quiet(Some(Retry::Again(pause)))
        }
    }
}

/// A failed change is retried soon at first, and later with every poll. A group that rejects a change now may accept it
/// later without any notification.
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
fn with_message(before: &Recycle, why: String, report: RecycleReport) -> RecycleReport {
    if before.failure.is_some() {
        return report;
    }
    RecycleReport { recycle: Recycle { message: Some(why), ..report.recycle }, ..report }
}

/// What the drains in progress wait for.
fn draining(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    let active = snapshot.recycle.instances.iter();
    let active = active.filter(|instance| instance.state == InstanceState::Draining);
    let messages = active.filter_map(|instance| {
        let view = snapshot.drains.get(&InstanceId::from(instance.id.as_str()))?;
        let verdict = drain::decide(view, now);
        drain_message(snapshot, &instance.id, view, &verdict, &drain::Outcome::default(), now)
    });
    let messages: Vec<_> = messages.collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

fn drained(
    snapshot: &Snapshot,
    verdicts: &[(InstanceId, drain::Plan)],
    done: &[(InstanceId, drain::Outcome)],
    now: Timestamp,
) -> (Option<String>, Option<Duration>) {
    let (mut messages, mut again) = (Vec::new(), None::<Duration>);
    for (id, verdict) in verdicts {
        let (Some((_, done)), Some(view)) =
            (done.iter().find(|(of, _)| of == id), snapshot.drains.get(id))
        else {
            continue;
        };
        messages.extend(drain_message(snapshot, &id.0, view, verdict, done, now));
        if let Some(pause) = verdict.again(done) {
            again = Some(again.map_or(pause, |again| again.min(pause)));
        }
    }
    ((!messages.is_empty()).then(|| messages.join("; ")), again)
}

fn drain_message(
    snapshot: &Snapshot,
    instance: &str,
    view: &drain::View,
    verdict: &drain::Plan,
    done: &drain::Outcome,
    now: Timestamp,
) -> Option<String> {
    let told = drain::report(view, verdict, done, now);
    let message = told.condition.and_then(|condition| condition.message)?;
    let node = snapshot.node(instance).map(|node| &*node.meta.key.name);
    Some(format!("{}: {message}", node.unwrap_or(instance)))
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

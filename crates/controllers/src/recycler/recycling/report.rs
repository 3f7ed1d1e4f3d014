//! What a pass over a recycle has to say: what is to be stored, Events, and when to come back.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, Step};
use machinist_domain::report::{EventNote, EventReason, EventType};
use machinist_domain::retry::Retry;
use machinist_provider::node_groups::InstanceId;

use super::plan::{Outcome, Plan};
use super::snapshot::Snapshot;
use crate::drain;

/// What a pass has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The recycle as it is to be stored. When its step is over, it belongs to the history.
    pub recycle: Recycle,
    /// What is new.
    pub events: Vec<EventNote>,
    /// What is in the way at present, for a condition.
    pub trouble: Option<String>,
    /// When to come back; `None` when it is over.
    pub retry: Option<Retry>,
}

/// Says what came of a pass.
pub fn report(snapshot: &Snapshot, plan: &Plan, outcome: &Outcome, now: Timestamp) -> Told {
    let before = &snapshot.recycle;
    let poll = snapshot.settings.poll;
    let quiet = |retry| Told { recycle: before.clone(), events: Vec::new(), trouble: None, retry };
    match (plan, outcome) {
        (Plan::Store(after), _) => {
            let retry = (!after.step.is_over()).then_some(Retry::Again(Duration::ZERO));
            Told { events: events(before, after), recycle: (**after).clone(), ..quiet(retry) }
        }
        (Plan::Over, _) => quiet(None),
        (Plan::Wait { pause, why }, _) => {
            let why = draining(snapshot, now).unwrap_or_else(|| why.clone());
            saying(before, why, quiet(Some(Retry::Again(*pause))))
        }
        (Plan::Do(_), Outcome::Failed(failure)) => {
            let trouble = Some(failure.message.clone());
            let told = Told { trouble, ..quiet(Some(once_more(snapshot, failure.retry, now))) };
            saying(before, failure.message.clone(), told)
        }
        (Plan::Do(_), Outcome::Overtaken(_)) => quiet(Some(Retry::Soon)),
        (Plan::Do(_), Outcome::LeftOut) => quiet(Some(Retry::Again(poll))),
        (Plan::Do(effect), Outcome::Drained(done)) => {
            let verdicts = match effect {
                super::plan::Effect::Drain(verdicts) => verdicts.as_slice(),
                _ => &[],
            };
            let (why, again) = drained(snapshot, verdicts, done, now);
            let told = quiet(Some(Retry::Again(again.unwrap_or(poll))));
            match why {
                Some(why) => saying(before, why, told),
                None => told,
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

/// When a change that failed is tried again: soon at first, later as often as the group is looked at, whatever else is waited for. What was begun
/// must be ended, and a group that refuses a change now may not in a moment, without anybody's telling.
fn once_more(snapshot: &Snapshot, asked: Retry, now: Timestamp) -> Retry {
    match asked {
        Retry::Backoff | Retry::OnChange => {
            let pause = snapshot.lasted(now) / 4;
            Retry::Again(pause.max(snapshot.settings.settle).min(snapshot.settings.poll))
        }
        Retry::After(_) | Retry::Soon | Retry::Again(_) => asked,
    }
}

/// What is waited for goes into the message, unless it says already why the recycle was given up.
fn saying(before: &Recycle, why: String, told: Told) -> Told {
    if before.failure.is_some() {
        return told;
    }
    Told { recycle: Recycle { message: Some(why), ..told.recycle }, ..told }
}

/// What the drains wait for, where some are under way.
fn draining(snapshot: &Snapshot, now: Timestamp) -> Option<String> {
    let active = snapshot.recycle.instances.iter();
    let active = active.filter(|instance| instance.state == InstanceState::Draining);
    let said = active.filter_map(|instance| {
        let view = snapshot.drains.get(&InstanceId::from(instance.id.as_str()))?;
        let verdict = drain::decide(view, now);
        sentence(snapshot, &instance.id, view, &verdict, &drain::Outcome::default(), now)
    });
    let said: Vec<_> = said.collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn drained(
    snapshot: &Snapshot,
    verdicts: &[(InstanceId, drain::Plan)],
    done: &[(InstanceId, drain::Outcome)],
    now: Timestamp,
) -> (Option<String>, Option<Duration>) {
    let (mut said, mut again) = (Vec::new(), None::<Duration>);
    for (id, verdict) in verdicts {
        let (Some((_, done)), Some(view)) =
            (done.iter().find(|(of, _)| of == id), snapshot.drains.get(id))
        else {
            continue;
        };
        said.extend(sentence(snapshot, &id.0, view, verdict, done, now));
        if let Some(pause) = verdict.again(done) {
            again = Some(again.map_or(pause, |again| again.min(pause)));
        }
    }
    ((!said.is_empty()).then(|| said.join("; ")), again)
}

fn sentence(
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
    let group = &after.group;
    let event =
        |event_type, reason, note| EventNote { event_type, reason, action: "Recycle", note };
    let proceeds = |text| event(EventType::Normal, EventReason::RecycleProceeds, text);
    let mut events = Vec::new();
    for instance in &after.instances {
        let former = before.instances.iter().find(|one| one.id == instance.id);
        if former.is_some_and(|former| former.state == instance.state) {
            continue;
        }
        let (id, node) = (&instance.id, instance.node.as_deref().unwrap_or("no node"));
        events.extend(match instance.state {
            InstanceState::Waiting | InstanceState::Gone => None,
            InstanceState::Draining => {
                Some(proceeds(format!("{group}: {id} ({node}) is being drained")))
            }
            InstanceState::Terminating => {
                Some(proceeds(format!("{group}: {id} ({node}) is being terminated")))
            }
            InstanceState::Kept => Some(event(
                EventType::Warning,
                EventReason::RecycleProceeds,
                format!("{group}: {id} ({node}) is left alone: it is protected or not in use"),
            )),
        });
    }
    if before.step == after.step {
        return events;
    }
    let why = after.message.as_deref().unwrap_or("no reason is known");
    events.push(match (after.step, after.failure) {
        (Step::Succeeded, _) => {
            event(EventType::Normal, EventReason::Recycled, format!("{group} is recycled"))
        }
        (Step::Failed, failure) => {
            let word = failure.map_or("unknown", |failure| failure.as_str());
            let text = format!("{group} is not recycled ({word}): {why}");
            event(EventType::Warning, EventReason::RecycleFailed, text)
        }
        (step, None) => proceeds(format!("{group}: {}", step.as_str())),
        (step, Some(_)) => event(
            EventType::Warning,
            EventReason::RecycleProceeds,
            format!("{group}: {}, because {why}", step.as_str()),
        ),
    });
    events
}

#[cfg(test)]
mod tests;

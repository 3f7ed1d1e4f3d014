//! What to tell about a pass: the status of the machine, Events, and when to come back.
//!
//! [`facts`] says what a machine is like after what was done; [`ready`] puts that into the condition `Ready`; [`status`] makes a patch of
//! whatever the object does not say yet; [`events`] are for those who look at the object.

mod events;
mod facts;
mod merge;
mod ready;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::{Classified as _, Retry};
use machinist_provider::cloud::{Deletion, InstanceState};

use self::facts::Facts;
use super::plan::{Leave, Outcome};
use super::snapshot::{Content, Snapshot, View};

/// Reports.
pub fn report(snapshot: &Snapshot, outcome: &Outcome, now: Timestamp) -> Report {
    let view = match &snapshot.content {
        Content::Read(view) => view,
        Content::Undecodable(error) => return undecodable(error),
    };
    let facts = Facts::after(view, outcome, now);
    let status = if facts.is_settling { None } else { status::patch(view, &facts, now) };
    Report {
        result: result(outcome, status.is_some()),
        events: events::events(view, outcome, &facts),
        retry: retry(view, outcome, &facts, now),
        status,
    }
}

fn undecodable(error: &str) -> Report {
    let note = EventNote {
        event_type: EventType::Warning,
        reason: EventReason::ReconcileError,
        action: "Validate",
        note: format!("object cannot be decoded: {error}"),
    };
    let (result, retry) = (PassResult::Refused, Some(Retry::OnChange));
    Report { events: vec![note], retry, ..Report::quiet(result) }
}

fn result(outcome: &Outcome, writes: bool) -> PassResult {
    match outcome {
        Outcome::Looking
        | Outcome::Waiting(_)
        | Outcome::Paused { .. }
        | Outcome::AwaitingHooks => PassResult::Waiting,
        Outcome::Refused(_) => PassResult::Refused,
        Outcome::NotCreated(_)
        | Outcome::NotRepaired(_)
        | Outcome::NotTerminated(_)
        | Outcome::Failed(_) => PassResult::Failed,
        Outcome::Left(_) | Outcome::DryRun | Outcome::Seen(_) | Outcome::Drained(..) if !writes => {
            PassResult::Settled
        }
        _ => PassResult::Changed,
    }
}

/// When to come back. What the machine waits for mostly brings it back by itself; the rest is looked at now and then.
fn retry(view: &View, outcome: &Outcome, facts: &Facts, now: Timestamp) -> Option<Retry> {
    let poll = view.rules.timings.poll;
    let retry = match outcome {
        Outcome::Left(Leave::Undecodable(_)) => Some(Retry::OnChange),
        Outcome::Left(_)
        | Outcome::Done
        | Outcome::DryRun
        | Outcome::AuthoritySettled
        | Outcome::Looking
        | Outcome::GivenUp(_)
        | Outcome::Prepared(_)
        | Outcome::Created(_)
        | Outcome::AwaitingHooks
        | Outcome::NothingLeft
        | Outcome::Terminating(Deletion::Gone) => None,
        Outcome::Waiting(wait) | Outcome::Paused { wait, .. } => Some(Retry::Again(*wait)),
        Outcome::Terminating(Deletion::UnderWay(_)) => Some(Retry::Again(poll)),
        Outcome::Refused(refusal) => Some(refusal.retry()),
        Outcome::NotCreated(_) if facts.fatal.is_some() => None,
        // What the cloud does not take today it may take tomorrow, and nobody will tell us.
        Outcome::NotCreated(error)
        | Outcome::NotRepaired(error)
        | Outcome::NotTerminated(error) => Some(patient(error.retry())),
        Outcome::Seen(_) if facts.is_settling => Some(Retry::Again(poll / 4)),
        Outcome::Seen(instance) | Outcome::Repaired(instance) => {
            // An instance whose Node is not well may be gone, and its cloud tells nobody.
            let runs = instance.state == InstanceState::Running;
            let well = facts.ready.as_ref().is_some_and(ready::runs_well);
            let look = (!runs || !well || instance.uncertain).then_some(poll);
            // Nor does anybody tell when what differs may be repaired again.
            let pause = view.unrepaired.as_ref().map(|last| last.wait);
            let pause = pause.filter(|wait| !wait.is_zero()).unwrap_or(poll);
            let repair = instance.drift.as_ref().map(|_| pause);
            look.into_iter().chain(repair).min().map(Retry::Again)
        }
        Outcome::Drained(verdict, done) => verdict.again(done).map(Retry::Again),
        Outcome::Failed(failure) => Some(failure.retry),
    };
    match (retry, facts.time_left(view, now)) {
        // Nobody else would notice that the time is over.
        (None | Some(Retry::OnChange), Some(left)) => Some(Retry::Again(left)),
        (Some(Retry::Again(wait)), Some(left)) => Some(Retry::Again(wait.min(left))),
        (retry, _) => retry,
    }
}

fn patient(retry: Retry) -> Retry {
    match retry {
        Retry::OnChange => Retry::Backoff,
        retry => retry,
    }
}

/// A duration as people say it.
fn spoken(time: Duration) -> String {
    jiff::SignedDuration::try_from(time)
        .map_or_else(|_| "ages".to_owned(), |time| format!("{time:#}"))
}

#[cfg(test)]
mod tests;

//! Reports a reconcile: Events, the status of the deployment, and when to requeue.

mod nodes;
mod status;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Failure, Retry};

use self::status::{Status, Trouble};
use super::decide::{Desired, is_available, min_ready};
use super::error::Refusal;
use super::in_place::{Mark, Step};
use super::messages;
use super::plan::{Finding, Outcome, Plan, Reason, set_name};
use super::snapshot::{Snapshot, View};
use crate::machine_set::memory::skips_machine;

/// Added to the time of availability, because a Machine is available only *after* `minReadySeconds`.
const A_MOMENT: SignedDuration = SignedDuration::from_millis(1);
/// For what changes nothing that requeues the deployment.
const A_LITTLE: Duration = Duration::from_millis(1);

pub(super) fn report(
    snapshot: &Snapshot,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    let Ok(view) = &snapshot.content else {
        return match plan {
            Plan::MarkNodes { .. } => nodes::released(outcome),
            plan => undecodable(plan),
        };
    };
    match (plan, outcome) {
        (Plan::MarkNodes { .. }, Outcome::DryRun) if snapshot.meta.deleting => {
            nodes::released(outcome)
        }
        (Plan::MarkNodes { .. }, outcome) if snapshot.meta.deleting => Report {
            status: Status::deleting(view, nodes::trouble(outcome), now),
            ..nodes::released(outcome)
        },
        (Plan::MarkNodes { .. }, Outcome::Failed(failure)) => nodes::failed(failure),
        (Plan::NoOp(Reason::Deleting), _) => Report {
            status: Status::deleting(view, None, now),
            ..Report::quiet(ReconcileResult::Settled)
        },
        (Plan::Refuse(refusal), _) => {
            let text = refusal.to_string();
            Report {
                status: Status::invalid(view, &text, now),
                events: vec![warning(EventReason::InvalidConfiguration, &text)],
                retry: Some(refused_again(view).map_or(Retry::OnChange, Retry::Again)),
                ..Report::quiet(ReconcileResult::Refused)
            }
        }
        // The deployment has another version than the status is compared with; the change requeues it.
        (_, Outcome::DryRun) | (Plan::AnnotateRevision { .. }, Outcome::Executed) => {
            Report::quiet(ReconcileResult::Changed)
        }
        (_, Outcome::Outdated) => {
            Report { retry: Some(Retry::Soon), ..Report::quiet(ReconcileResult::Waiting) }
        }
        (plan, outcome) => match Desired::of(view) {
            Ok(desired) => executed(view, &desired, plan, outcome, now),
            Err(refusal) => with_invalid_spec(view, plan, outcome, &refusal, now),
        },
    }
}

fn undecodable(plan: &Plan) -> Report {
    match plan {
        Plan::Refuse(refusal) => Report {
            events: vec![warning(EventReason::ReconcileError, &refusal.to_string())],
            retry: Some(Retry::OnChange),
            ..Report::quiet(ReconcileResult::Refused)
        },
        _ => Report::quiet(ReconcileResult::Settled),
    }
}

/// When what was refused before is tried again.
fn refused_again(view: &View) -> Option<Duration> {
    view.refused.retry.into_iter().chain(nodes::again(view)).min()
}

/// What is done with an invalid spec: a move of a Machine that has begun, and Nodes lose the marks of a rollout.
fn with_invalid_spec(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    refusal: &Refusal,
    now: Timestamp,
) -> Report {
    let status = Status::invalid(view, &refusal.to_string(), now);
    if let Outcome::Failed(failure) = outcome {
        let (reason, text) = cause(plan, failure);
        let known = failure.category.needs_attention();
        let events = known.then(|| warning(reason, &text)).into_iter().collect();
        let retry = Some(failure.retry.or_backoff());
        return Report { result: ReconcileResult::Failed, status, events, retry };
    }
    let result = match plan {
        Plan::NoOp(_) => ReconcileResult::Waiting,
        _ => ReconcileResult::Changed,
    };
    let again = match plan {
        Plan::MarkNodes { .. } => Some(A_LITTLE),
        _ => refused_again(view),
    };
    Report { result, status, events: events(plan), retry: again.map(Retry::Again) }
}

fn executed(
    view: &View,
    desired: &Desired,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> Report {
    let status = Status { view, desired, plan, now };
    match outcome {
        Outcome::Failed(failure) => failed(&status, failure),
        Outcome::Collision => {
            let name = match plan {
                Plan::Create { name, .. } => name,
                _ => "",
            };
            Report {
                status: Some(status.collision()),
                events: vec![warning(EventReason::ReconcileError, &messages::collision(name))],
                retry: Some(Retry::Soon),
                ..Report::quiet(ReconcileResult::Changed)
            }
        }
        _ => {
            let result = match plan {
                Plan::NoOp(Reason::Complete) => ReconcileResult::Settled,
                Plan::NoOp(_) => ReconcileResult::Waiting,
                _ => ReconcileResult::Changed,
            };
            // What was decided before that time is decided again.
            let guard =
                desired.guard_requeue(view, now).filter(|_| result != ReconcileResult::Changed);
            let guard = guard.and_then(|at| until(at.max(now), now));
            let earlier = view.refused.cause.as_ref();
            let trouble =
                earlier.map_or(Trouble::None, |(reason, text)| Trouble::Earlier(*reason, text));
            let (patch, deadline) = status.patch(trouble);
            let retry = match plan {
                // A list that finds nothing new requeues nothing, nor does a Node that is gone.
                Plan::List | Plan::PushDone { listed: false, .. } | Plan::MarkNodes { .. } => {
                    Some(A_LITTLE)
                }
                _ => {
                    let (late, nodes) = (late(view), nodes::again(view));
                    let (next, refused) = (next_available(view, now), view.refused.retry);
                    let moving =
                        matches!(plan, Plan::NoOp(Reason::Moving)).then_some(view.move_poll);
                    let again = [next, deadline, late, nodes, guard, refused, moving];
                    again.into_iter().flatten().min()
                }
            };
            let retry = retry.map(Retry::Again);
            Report { result, status: patch, events: events(plan), retry }
        }
    }
}

fn failed(status: &Status<'_>, failure: &Failure) -> Report {
    let (reason, text) = cause(status.plan, failure);
    let known = failure.category.needs_attention();
    let trouble = if known { Trouble::Failure(reason, &text) } else { Trouble::Unknown };
    let events = known.then(|| warning(reason, &text)).into_iter().collect();
    let is_skipped = skips_machine(failure.category)
        && matches!(
            status.plan,
            Plan::Claim { .. }
                | Plan::SetRevision { .. }
                | Plan::Guard { .. }
                | Plan::AnnotateRevision { .. }
                | Plan::PushDown { .. }
                | Plan::PushMachines { .. }
                | Plan::PushDone { listed: true, .. }
                | Plan::Preserve { .. }
                | Plan::Mark(_)
                | Plan::Unmark(_)
                | Plan::InPlace(_)
        );
    // The object is skipped for a while. Otherwise: a right that is granted changes no object.
    let retry = if is_skipped { Retry::Soon } else { failure.retry.or_backoff() };
    let retry = Some(retry);
    let (patch, _) = status.patch(trouble);
    Report { result: ReconcileResult::Failed, status: patch, events, retry }
}

fn cause(plan: &Plan, failure: &Failure) -> (EventReason, String) {
    let cause = &failure.message;
    match plan {
        Plan::Claim { .. } => (EventReason::ReconcileError, messages::claim_failed(cause)),
        Plan::Create { .. } => (EventReason::FailedCreate, messages::create_failed(cause)),
        Plan::Delete { .. } => (EventReason::FailedDelete, messages::delete_failed(cause)),
        Plan::List => (EventReason::ReconcileError, messages::list_failed(cause)),
        _ => (EventReason::FailedUpdate, messages::update_failed(cause)),
    }
}

fn events(plan: &Plan) -> Vec<EventNote> {
    let note = |reason, action, text: String| EventNote::normal(reason, action, text);
    match plan {
        // A failed Machine that is tolerated has Events of its own, and without old Machines there are no canaries.
        Plan::NoOp(_)
        | Plan::Guard { finding: Finding::Failed(_, None) | Finding::Complete(_), .. }
        | Plan::Refuse(_)
        | Plan::SetRevision { .. }
        | Plan::AnnotateRevision { .. }
        | Plan::MarkNodes { .. }
        | Plan::Preserve { .. }
        | Plan::Mark(_)
        | Plan::Unmark(_)
        | Plan::PushMachines { .. }
        | Plan::PushDone { .. }
        | Plan::List => Vec::new(),
        Plan::Guard { set, finding: Finding::CanaryPassed(_), .. } => {
            let text = messages::canary_passed(set_name(set));
            vec![note(EventReason::CanaryPassed, "Rollout", text)]
        }
        Plan::Guard { finding: Finding::Failed(failed, Some(_)), .. } => {
            let text = messages::rollout_aborted(failed);
            vec![EventNote::warning(EventReason::RolloutAborted, "Rollout", text)]
        }
        Plan::Claim { adopt, release, .. } => {
            let adopted = messages::names(adopt.iter().map(set_name));
            let released = messages::names(release.iter().map(set_name));
            [
                (adopted.is_empty(), EventReason::Adopted, messages::adopted(&adopted)),
                (released.is_empty(), EventReason::Released, messages::released(&released)),
            ]
            .into_iter()
            .filter(|(none, ..)| !none)
            .map(|(_, reason, text)| note(reason, "Claim", text))
            .collect()
        }
        Plan::Create { name, revision, .. } => {
            vec![note(EventReason::Create, "Create", messages::created(name, *revision))]
        }
        // The fields that the hash leaves out were recorded.
        Plan::PushDown { changes, .. } if changes.is_empty() => Vec::new(),
        Plan::PushDown { set, machines, changes, .. } => {
            let text = messages::pushed(set_name(set), *machines, changes);
            vec![note(EventReason::Update, "Update", text)]
        }
        Plan::Scale(sizes) => sizes
            .iter()
            .map(|one| messages::scaled(set_name(&one.set), one.from, one.to))
            .map(|text| note(EventReason::Scaled, "Scale", text))
            .collect(),
        Plan::InPlace(step) => in_place(step),
        Plan::Delete { set, .. } => {
            vec![note(EventReason::Delete, "Delete", messages::deleted(set_name(set)))]
        }
    }
}

fn in_place(step: &Step) -> Vec<EventNote> {
    let text = match step {
        Step::Mark(machines) => {
            let admitted = machines.iter().filter(|(_, mark)| matches!(mark, Mark::Admitted(_)));
            let names = messages::names(admitted.map(|(machine, _)| &*machine.meta.key.name));
            Some(names).filter(|names| !names.is_empty()).map(|names| messages::selected(&names))
        }
        Step::Move { machine, to, .. } => {
            Some(messages::moved(&machine.meta.key.name, set_name(to)))
        }
        Step::Hold { .. } | Step::Release { .. } => None,
    };
    let note = |text| EventNote::normal(EventReason::Update, "UpdateInPlace", text);
    text.map(note).into_iter().collect()
}

/// When a write without an answer will not be executed any more.
fn late(view: &View) -> Option<Duration> {
    let late = view.sets.iter().filter_map(|one| one.late);
    late.map(|late| late.until.saturating_sub(view.uptime)).min()
}

/// When the next Machine becomes available, for which there is no watch event.
fn next_available(view: &View, now: Timestamp) -> Option<Duration> {
    let members = view.sets.iter().flat_map(|one| &one.members);
    let waiting = members.filter(|member| !is_available(member, view, now));
    let next = waiting.filter_map(|member| member.available_at(min_ready(view))).min()?;
    until(next, now)
}

/// Until a moment after that time.
fn until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    now.duration_until(at).checked_add(A_MOMENT)?.try_into().ok()
}

fn warning(reason: EventReason, text: &str) -> EventNote {
    let action = match reason {
        EventReason::FailedCreate => "Create",
        EventReason::FailedDelete => "Delete",
        EventReason::FailedUpdate => "Update",
        _ => "Reconcile",
    };
    EventNote::warning(reason, action, text.to_owned())
}

#[cfg(test)]
mod tests;

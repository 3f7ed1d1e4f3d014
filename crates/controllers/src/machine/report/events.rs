//! Events of a Machine: creation and deletion of the instance, and what prevents progress.

use machinist_api::names::ANNOTATION_CREATION_TIMEOUT;
use machinist_domain::report::{EventNote, EventReason};
use machinist_provider::cloud::Deletion;

use super::super::error::Refusal;
use super::super::messages::{self, capitalized};
use super::super::plan::{Outcome, Plan, Reason};
use super::super::snapshot::View;
use super::facts::Facts;

pub(super) fn events(view: &View, plan: &Plan, outcome: &Outcome, facts: &Facts) -> Vec<EventNote> {
    let mut events = facts.drain_events.clone();
    if let Some(fatal) = &facts.fatal {
        events.push(EventNote::warning(EventReason::MachineFailed, "Fail", fatal.to_string()));
        return events;
    }
    if facts.is_late
        && let Some(ready) = facts.ready.as_ref().and_then(|ready| ready.message.as_deref())
    {
        events.push(EventNote::warning(EventReason::CreationTimedOut, "Create", ready));
    }
    events.extend(of(plan, outcome));
    events.extend(bad_timeout(view));
    events
}

fn of(plan: &Plan, outcome: &Outcome) -> Option<EventNote> {
    Some(match (outcome, plan) {
        (Outcome::Created(instance), _) => {
            EventNote::normal(EventReason::Create, "Create", messages::created(instance))
        }
        (Outcome::Repaired(instance), _) => {
            EventNote::normal(EventReason::Update, "Update", messages::updated(instance))
        }
        (Outcome::Terminating(Deletion::Gone), _) => {
            EventNote::normal(EventReason::Delete, "Delete", messages::INSTANCE_DELETED)
        }
        (Outcome::NotCreated(error), _) => {
            EventNote::warning(EventReason::FailedCreate, "Create", capitalized(&error.message))
        }
        (Outcome::NotRepaired(error), _) => {
            EventNote::warning(EventReason::FailedUpdate, "Update", capitalized(&error.message))
        }
        (Outcome::NotTerminated(error), _) => {
            EventNote::warning(EventReason::FailedDelete, "Delete", capitalized(&error.message))
        }
        (Outcome::Failed(failure), _) if failure.category.needs_attention() => EventNote::warning(
            EventReason::ReconcileError,
            "Write",
            messages::write_failed(&failure.message),
        ),
        (Outcome::Done, Plan::NoOp(Reason::UnknownAuthority)) => {
            EventNote::warning(EventReason::FailedValidate, "Validate", messages::UNKNOWN_AUTHORITY)
        }
        (Outcome::Done, Plan::Refuse(refusal)) => {
            let reason = match refusal {
                Refusal::NoClusterLabel | Refusal::BadSpec(_) => EventReason::FailedValidate,
                Refusal::NoSecret(_) | Refusal::NotFoundOut(_) | Refusal::CouldNotLook(_) => {
                    EventReason::ReconcileError
                }
            };
            EventNote::warning(reason, "Validate", refusal.to_string())
        }
        _ => return None,
    })
}

fn bad_timeout(view: &View) -> Option<EventNote> {
    let text = view.machine.annotations.get(ANNOTATION_CREATION_TIMEOUT)?;
    let unreadable = text.parse::<jiff::SignedDuration>().is_err();
    let note = || messages::bad_creation_timeout(text);
    unreadable.then(|| EventNote::warning(EventReason::FailedValidate, "Validate", note()))
}

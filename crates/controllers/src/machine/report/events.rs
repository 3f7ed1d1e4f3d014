//! Events about a machine. Few: one when its instance is made, one when it is gone, and what is in the way.

use machinist_api::names::ANNOTATION_CREATION_TIMEOUT;
use machinist_domain::report::{EventNote, EventReason, EventType};
use machinist_provider::cloud::Deletion;

use super::super::error::Refusal;
use super::super::plan::{Leave, Outcome};
use super::super::snapshot::View;
use super::facts::{Facts, TEXT_UNKNOWN_AUTHORITY};

/// What is new.
pub(super) fn events(view: &View, outcome: &Outcome, facts: &Facts) -> Vec<EventNote> {
    let mut events = facts.drain_events.clone();
    if let Some(fatal) = &facts.fatal {
        events.push(warning(EventReason::MachineFailed, "Fail", fatal.to_string()));
        return events;
    }
    if facts.is_late
        && let Some(ready) = facts.ready.as_ref().and_then(|ready| ready.message.as_deref())
    {
        events.push(warning(EventReason::CreationTimedOut, "Create", ready.to_owned()));
    }
    events.extend(of(outcome));
    events.extend(bad_timeout(view));
    events
}

fn of(outcome: &Outcome) -> Option<EventNote> {
    Some(match outcome {
        Outcome::Created(instance) => {
            normal(EventReason::Create, "Create", format!("instance {} is created", instance.id))
        }
        Outcome::Repaired(instance) => {
            normal(EventReason::Update, "Update", format!("instance {} is repaired", instance.id))
        }
        Outcome::Terminating(Deletion::Gone) => {
            normal(EventReason::Delete, "Delete", "the instance is gone".to_owned())
        }
        Outcome::Left(Leave::UnknownAuthority) => {
            warning(EventReason::FailedValidate, "Validate", TEXT_UNKNOWN_AUTHORITY.to_owned())
        }
        Outcome::NotCreated(error) => {
            warning(EventReason::FailedCreate, "Create", error.message.clone())
        }
        Outcome::NotRepaired(error) => {
            warning(EventReason::FailedUpdate, "Update", error.message.clone())
        }
        Outcome::NotTerminated(error) => {
            warning(EventReason::FailedDelete, "Delete", error.message.clone())
        }
        Outcome::Refused(refusal) => {
            let reason = match refusal {
                Refusal::NoClusterLabel | Refusal::BadSpec(_) => EventReason::FailedValidate,
                Refusal::NoSecret(_) | Refusal::NotFoundOut(_) | Refusal::CouldNotLook(_) => {
                    EventReason::ReconcileError
                }
            };
            warning(reason, "Validate", refusal.to_string())
        }
        Outcome::Failed(failure) if failure.category.is_for_people() => {
            warning(EventReason::ReconcileError, "Write", failure.message.clone())
        }
        _ => return None,
    })
}

/// An annotation that nobody understands is as good as none, and whoever wrote it should know.
fn bad_timeout(view: &View) -> Option<EventNote> {
    let text = view.machine.annotations.get(ANNOTATION_CREATION_TIMEOUT)?;
    let unreadable = text.parse::<jiff::SignedDuration>().is_err();
    let note = format!("{ANNOTATION_CREATION_TIMEOUT}: {text:?} is no duration such as 30m");
    unreadable.then(|| warning(EventReason::FailedValidate, "Validate", note))
}

fn normal(reason: EventReason, action: &'static str, note: String) -> EventNote {
    EventNote { event_type: EventType::Normal, reason, action, note }
}

fn warning(reason: EventReason, action: &'static str, note: String) -> EventNote {
    EventNote { event_type: EventType::Warning, reason, action, note }
}

//! The condition `Preserved`: until when a Machine is kept, or why it is not any more. While a failed one is drained,
//! and afterwards, its reason is the step of the drain, from which the drain continues.

use jiff::Timestamp;
use machinist_api::names::{CONDITION_PRESERVED, SEVERITY_INFO, SEVERITY_WARNING};
use machinist_domain::conditions::Condition;
use machinist_domain::report::{EventNote, EventReason};

use super::super::messages;
use super::super::preservation::Standing;
use super::super::snapshot::View;
use super::facts::Facts;
use crate::preservation::{Request, until};

const REQUESTED: &str = "Requested";
const MACHINE_FAILED: &str = "MachineFailed";
const EXPIRED: &str = "Expired";
const INVALID_VALUE: &str = "InvalidValue";
const ACTION: &str = "Preserve";

/// `None`: there is none.
pub(super) fn condition(view: &View, facts: &Facts, now: Timestamp) -> Option<Condition> {
    let no = |severity, reason, text: String| {
        Some(Condition::no(CONDITION_PRESERVED, severity, reason, text))
    };
    let yes = Condition::yes(CONDITION_PRESERVED);
    // The taint is missing then, and the Node is not drained.
    let noted = |text: String| match &view.unmarked {
        None => text,
        Some(unmarked) => messages::without_marks(&text, &unmarked.why),
    };
    match (view.preservation(now), view.preserve_request()) {
        (Standing::Kept { until, failed: false }, _) => {
            Some(yes.because(REQUESTED, noted(messages::preserved(until))))
        }
        (Standing::Kept { until, failed: true }, _) => {
            if let Some((step, text)) = &facts.preserved_drain {
                return Some(yes.because(step.as_str(), messages::preserved_drain(until, text)));
            }
            let text = messages::preserved_failed(until);
            let known = view.machine.condition(CONDITION_PRESERVED);
            let known = known.filter(|known| {
                // The text repeats the end, which users may change.
                let is_current = known.message.as_deref().is_some_and(|it| it.starts_with(&text));
                view.preservation_step().is_some() && is_current
            });
            known.cloned().or_else(|| Some(yes.because(MACHINE_FAILED, noted(text))))
        }
        (Standing::Expired(at), _) => {
            no(SEVERITY_INFO, EXPIRED, messages::preservation_expired(at))
        }
        (_, Request::Invalid(value)) if !view.machine.meta.deleting => {
            no(SEVERITY_WARNING, INVALID_VALUE, messages::bad_preserve(value))
        }
        _ => None,
    }
}

/// An Event when the stored condition becomes or ceases to be True.
pub(super) fn event(view: &View, facts: &Facts, now: Timestamp) -> Option<EventNote> {
    if facts.is_elsewhere() || view.machine.meta.deleting {
        return None;
    }
    let stored = view.machine.condition(CONDITION_PRESERVED);
    let before = stored.is_some_and(Condition::is_true);
    let begins = |text| Some(EventNote::normal(EventReason::Preserved, ACTION, text));
    match view.preservation(now) {
        Standing::Kept { until, failed: false } if !before => begins(messages::preserved(until)),
        Standing::Kept { until, failed: true } if !before => {
            begins(messages::preserved_failed(until))
        }
        Standing::Expired(at) if !stored.is_some_and(is_expired) => {
            Some(ended(messages::preservation_expired(at)))
        }
        Standing::Off if before => Some(ended(messages::PRESERVATION_ENDED.to_owned())),
        _ => None,
    }
}

/// An Event when the stored end was removed and no stored condition shows a later reconcile that there was one: it was
/// withdrawn before the condition was written, or that write met a conflict.
pub(super) fn event_of_end(view: &View) -> Option<EventNote> {
    let stored = view.machine.condition(CONDITION_PRESERVED);
    let is_known = stored.is_some_and(|stored| stored.is_true() || is_expired(stored));
    let was_kept = until(&view.machine).is_some();
    (was_kept && !is_known).then(|| ended(messages::PRESERVATION_ENDED.to_owned()))
}

fn ended(text: String) -> EventNote {
    EventNote::normal(EventReason::PreservationEnded, ACTION, text)
}

fn is_expired(stored: &Condition) -> bool {
    stored.reason.as_deref() == Some(EXPIRED)
}

#[cfg(test)]
mod tests;

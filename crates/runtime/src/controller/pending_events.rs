//! Events that could not be written yet, in memory, because no later reconcile may observe what they report.

use std::collections::HashMap;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::report::EventNote;
use machinist_domain::retry::{Classified as _, Retry};
use parking_lot::Mutex;

use crate::cluster::ApiError;
use crate::cluster::status::NAMESPACE_TERMINATING;
use crate::writer::WriteError;

const MAX_EVENTS: usize = 5;

#[derive(Debug, Default)]
pub(super) struct PendingEvents(Mutex<HashMap<ObjectKey, (Uid, Vec<EventNote>)>>);

impl PendingEvents {
    /// Takes the Events of the object. Those of a former object of the same name are dropped.
    pub(super) fn take(&self, key: &ObjectKey, uid: &Uid) -> Vec<EventNote> {
        match self.0.lock().remove(key) {
            Some((of, notes)) if of == *uid => notes,
            _ => Vec::new(),
        }
    }

    /// Keeps Events for the next reconcile, the newest ones if there are too many.
    pub(super) fn keep(&self, key: &ObjectKey, uid: &Uid, mut notes: Vec<EventNote>) {
        notes.drain(..notes.len().saturating_sub(MAX_EVENTS));
        if !notes.is_empty() {
            self.0.lock().insert(key.clone(), (uid.clone(), notes));
        }
    }

    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// Whether a retry cannot succeed: the Event is invalid, or its namespace is terminating or gone.
pub(super) fn is_permanent(error: &WriteError) -> bool {
    let terminating = matches!(
        error,
        WriteError::Api(ApiError::Refused { code: 403, reason, .. })
            if reason == NAMESPACE_TERMINATING
    );
    terminating || error.not_found() || error.retry() == Retry::OnChange
}

/// When to requeue for a pending Event: as the reconcile wants, or earlier if that does no harm.
pub(super) fn retry(
    of_reconcile: Option<Retry>,
    of_event: Retry,
    longest: Duration,
) -> Option<Retry> {
    match of_reconcile {
        None | Some(Retry::OnChange) => Some(of_event),
        Some(Retry::Again(wait)) => {
            let event = match of_event {
                Retry::After(delay) | Retry::Again(delay) => delay,
                Retry::Backoff | Retry::Soon | Retry::OnChange => longest,
            };
            Some(Retry::Again(wait.min(event)))
        }
        // The backoff of a failed reconcile is not shortened for an Event.
        Some(Retry::After(_) | Retry::Backoff | Retry::Soon) => of_reconcile,
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::report::EventReason;

    use super::*;

    fn refused(code: u16, reason: &str) -> WriteError {
        let (reason, message) = (reason.to_owned(), String::new());
        ApiError::Refused { code, reason, message, retry_after: None }.into()
    }

    #[test]
    fn rejections_that_no_retry_can_fix_are_permanent() {
        for (code, reason) in [(403, NAMESPACE_TERMINATING), (404, "NotFound"), (422, "Invalid")] {
            assert!(is_permanent(&refused(code, reason)), "{code}");
        }
        for (code, reason) in [(403, "Forbidden"), (429, "TooManyRequests"), (500, "InternalError")]
        {
            assert!(!is_permanent(&refused(code, reason)), "{code}");
        }
    }

    #[test]
    fn pending_events_neither_delay_a_requeue_nor_shorten_a_backoff() {
        let (short, long, longest) = [1, 900, 300].map(Duration::from_secs).into();
        let cases = [
            (None, Retry::Backoff, Retry::Backoff),
            (Some(Retry::OnChange), Retry::After(long), Retry::After(long)),
            (Some(Retry::Again(short)), Retry::Backoff, Retry::Again(short)),
            (Some(Retry::Again(short)), Retry::After(long), Retry::Again(short)),
            (Some(Retry::Again(long)), Retry::After(short), Retry::Again(short)),
            (Some(Retry::Again(long)), Retry::Backoff, Retry::Again(longest)),
            (Some(Retry::After(long)), Retry::Backoff, Retry::After(long)),
            (Some(Retry::Backoff), Retry::After(long), Retry::Backoff),
            (Some(Retry::Soon), Retry::Backoff, Retry::Soon),
        ];
        for (of_reconcile, of_event, expected) in cases {
            let both = retry(of_reconcile, of_event, longest);
            assert_eq!(both, Some(expected), "{of_reconcile:?} and {of_event:?}");
        }
    }

    fn note(text: usize) -> EventNote {
        EventNote::normal(EventReason::Annotated, "Annotate", text.to_string())
    }

    #[test]
    fn events_are_taken_once_and_only_for_the_same_uid() {
        let (pending, key) = (PendingEvents::default(), ObjectKey::new("ns", "a"));
        let (first, second) = (Uid("1".into()), Uid("2".into()));
        pending.keep(&key, &first, vec![note(1)]);
        assert_eq!(pending.take(&key, &first), [note(1)]);
        assert_eq!(pending.take(&key, &first), []);
        pending.keep(&key, &first, vec![note(1)]);
        assert_eq!(pending.take(&key, &second), []);
        pending.keep(&key, &first, vec![note(1)]);
        pending.forget(&key);
        assert_eq!(pending.take(&key, &first), []);
    }

    #[test]
    fn keeps_the_newest_events() {
        let (pending, key, uid) =
            (PendingEvents::default(), ObjectKey::new("ns", "a"), Uid("1".into()));
        pending.keep(&key, &uid, (0..8).map(note).collect());
        assert_eq!(pending.take(&key, &uid), (3..8).map(note).collect::<Vec<_>>());
    }
}

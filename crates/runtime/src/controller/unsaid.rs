//! Events that could not be written, until a later pass over the object has written them.
//!
//! An Event may tell of something that the pass did, and no later pass would find again. It is kept here, in memory: what tells of a state comes
//! again by itself, and what is lost with the process is only news.

use std::collections::HashMap;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::report::EventNote;
use machinist_domain::retry::{Classified as _, Retry};
use parking_lot::Mutex;

use crate::cluster::ApiError;
use crate::cluster::status::NAMESPACE_TERMINATING;
use crate::writer::WriteError;

/// How many are kept of one object: no more than would be written at once.
const MOST_NOTES: usize = 5;

/// Events that could not be written, by object.
#[derive(Debug, Default)]
pub(super) struct Unsaid(Mutex<HashMap<ObjectKey, (Uid, Vec<EventNote>)>>);

impl Unsaid {
    /// Takes what could not be said about the object. What was about another of the same name is forgotten.
    pub(super) fn take(&self, key: &ObjectKey, uid: &Uid) -> Vec<EventNote> {
        match self.0.lock().remove(key) {
            Some((of, notes)) if of == *uid => notes,
            _ => Vec::new(),
        }
    }

    /// Keeps what could not be said about the object. Too much of it, and the oldest goes.
    pub(super) fn keep(&self, key: &ObjectKey, uid: &Uid, mut notes: Vec<EventNote>) {
        notes.drain(..notes.len().saturating_sub(MOST_NOTES));
        if !notes.is_empty() {
            self.0.lock().insert(key.clone(), (uid.clone(), notes));
        }
    }

    /// The object is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// Whether an Event will never be taken: as it is, or because its namespace goes or is gone.
pub(super) fn is_futile(error: &WriteError) -> bool {
    let terminating = matches!(
        error,
        WriteError::Api(ApiError::Refused { code: 403, reason, .. })
            if reason == NAMESPACE_TERMINATING
    );
    terminating || error.not_found() || error.retry() == Retry::OnChange
}

/// When to come back where an Event is left to be said: as the pass would have it, or earlier if that does no harm. `longest` is how long the
/// Event may wait.
pub(super) fn retry(of_pass: Option<Retry>, of_event: Retry, longest: Duration) -> Option<Retry> {
    match of_pass {
        None | Some(Retry::OnChange) => Some(of_event),
        Some(Retry::Again(wait)) => {
            let event = match of_event {
                Retry::After(delay) | Retry::Again(delay) => delay,
                Retry::Backoff | Retry::Soon | Retry::OnChange => longest,
            };
            Some(Retry::Again(wait.min(event)))
        }
        // What failed pauses. It must not be tried earlier for the sake of an Event.
        Some(Retry::After(_) | Retry::Backoff | Retry::Soon) => of_pass,
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::report::{EventReason, EventType};

    use super::*;

    fn refused(code: u16, reason: &str) -> WriteError {
        let (reason, message) = (reason.to_owned(), String::new());
        ApiError::Refused { code, reason, message, retry_after: None }.into()
    }

    #[test]
    fn an_event_is_futile_where_no_attempt_will_ever_be_better() {
        for (code, reason) in [(403, NAMESPACE_TERMINATING), (404, "NotFound"), (422, "Invalid")] {
            assert!(is_futile(&refused(code, reason)), "{code}");
        }
        for (code, reason) in [(403, "Forbidden"), (429, "TooManyRequests"), (500, "InternalError")]
        {
            assert!(!is_futile(&refused(code, reason)), "{code}");
        }
    }

    #[test]
    fn a_pass_that_comes_back_by_itself_is_not_put_off_nor_hurried_where_it_failed() {
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
        for (of_pass, of_event, expected) in cases {
            let both = retry(of_pass, of_event, longest);
            assert_eq!(both, Some(expected), "{of_pass:?} and {of_event:?}");
        }
    }

    fn note(text: usize) -> EventNote {
        EventNote {
            event_type: EventType::Normal,
            reason: EventReason::Annotated,
            action: "Annotate",
            note: text.to_string(),
        }
    }

    #[test]
    fn what_was_kept_is_taken_once_and_only_about_the_same_object() {
        let (unsaid, key) = (Unsaid::default(), ObjectKey::new("ns", "a"));
        let (first, second) = (Uid("1".into()), Uid("2".into()));
        unsaid.keep(&key, &first, vec![note(1)]);
        assert_eq!(unsaid.take(&key, &first), [note(1)]);
        assert_eq!(unsaid.take(&key, &first), []);
        unsaid.keep(&key, &first, vec![note(1)]);
        assert_eq!(unsaid.take(&key, &second), []);
        unsaid.keep(&key, &first, vec![note(1)]);
        unsaid.forget(&key);
        assert_eq!(unsaid.take(&key, &first), []);
    }

    #[test]
    fn the_newest_few_are_kept() {
        let (unsaid, key, uid) = (Unsaid::default(), ObjectKey::new("ns", "a"), Uid("1".into()));
        unsaid.keep(&key, &uid, (0..8).map(note).collect());
        assert_eq!(unsaid.take(&key, &uid), (3..8).map(note).collect::<Vec<_>>());
    }
}

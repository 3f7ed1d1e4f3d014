//! Events that could not be written, until a later pass over the object has written them.
//!
//! An Event may tell of something that the pass did, and no later pass would find again. It is kept here, in memory: what tells of a state comes
//! again by itself, and what is lost with the process is only news.

use std::collections::HashMap;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::report::EventNote;
use parking_lot::Mutex;

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

#[cfg(test)]
mod tests {
    use machinist_domain::report::{EventReason, EventType};

    use super::*;

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

//! Recognises changes that a reconcile caused itself.
//!
//! A write updates the cache, and subscribers enqueue the key again. After a failure that would cut the backoff short,
//! so the queue drops requests whose [`Revision`] the failed reconcile wrote. Only a write with a resourceVersion
//! precondition is recorded: its answer cannot contain changes of other clients. A write that changes nothing triggers
//! no watch event, so the reconcile has to requeue by itself.

use std::sync::Arc;

use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    uid: Uid,
    version: Version,
}

impl Revision {
    pub(crate) fn of(meta: &Meta) -> Self {
        Self { uid: meta.uid.clone(), version: meta.version }
    }
}

/// The writes of one reconcile. Clones share the record.
#[derive(Debug, Clone, Default)]
pub(crate) struct SelfWrites(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    revisions: Vec<Revision>,
    unchanged: bool,
}

impl SelfWrites {
    pub(crate) fn record(&self, meta: &Meta) {
        self.0.lock().revisions.push(Revision::of(meta));
    }

    pub(crate) fn record_unchanged(&self) {
        self.0.lock().unchanged = true;
    }

    pub(crate) fn contains(&self, revision: &Revision) -> bool {
        self.0.lock().revisions.contains(revision)
    }

    /// Whether the reconcile wrote something and no write had an effect.
    pub(crate) fn had_no_effect(&self) -> bool {
        let record = self.0.lock();
        record.unchanged && record.revisions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;

    fn meta(version: u64) -> Meta {
        let (key, uid) = (ObjectKey::new("ns", "a"), Uid("u".into()));
        Meta { key, uid, version: Version(version), deleting: false }
    }

    #[test]
    fn contains_what_its_own_clones_recorded_and_nothing_else() {
        let (one, other) = (SelfWrites::default(), SelfWrites::default());
        one.clone().record(&meta(2));
        other.record(&meta(3));
        let has = |writes: &SelfWrites| [1, 2, 3].map(|n| writes.contains(&Revision::of(&meta(n))));
        assert_eq!(has(&one), [false, true, false]);
        assert_eq!(has(&other), [false, false, true]);
    }

    #[test]
    fn has_no_effect_only_if_every_write_left_its_object_unchanged() {
        let (unchanged, other) = (SelfWrites::default(), SelfWrites::default());
        unchanged.record_unchanged();
        other.record_unchanged();
        other.record(&meta(1));
        let all = [unchanged, other, SelfWrites::default()];
        assert_eq!(all.map(|it| it.had_no_effect()), [true, false, false]);
    }
}

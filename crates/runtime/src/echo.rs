//! Which changes are the echo of what a pass wrote itself.
//!
//! A write of ours changes the cache, and subscribers put the key back into the queue that the pass is still at. Mostly that is how the next
//! step begins. After a failure it is wrong: what the pass wrote about the failure would cut short the pause that the failure asks for.
//!
//! Three parties meet here. The store says which version of an object it tells of ([`telling`]); a queue notes it with the wish ([`told`]);
//! and the pass collects the versions that it wrote ([`Wrote`]). It does not matter whether the answer to the write or the watch comes first.
//!
//! Only a write that names the version it replaces has an echo: nobody else's change can be in its answer.
//!
//! A write that changes nothing has no echo at all, so nothing begins the next step. The pass notes that, too ([`wrote_in_vain`]).

use std::cell::RefCell;
use std::sync::Arc;

use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;

thread_local! {
    static TOLD: RefCell<Option<Edition>> = const { RefCell::new(None) };
}

tokio::task_local! {
    static WROTE: Wrote;
}

/// One object in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edition {
    uid: Uid,
    version: Version,
}

impl Edition {
    fn of(meta: &Meta) -> Self {
        Self { uid: meta.uid.clone(), version: meta.version }
    }
}

/// What a pass wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wrote(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    editions: Vec<Edition>,
    in_vain: bool,
}

impl Wrote {
    /// Runs a pass; what it writes is collected here.
    pub(crate) async fn during<F: Future>(&self, pass: F) -> F::Output {
        WROTE.scope(self.clone(), pass).await
    }

    /// Whether the pass wrote this.
    pub(crate) fn contains(&self, edition: &Edition) -> bool {
        self.0.lock().editions.contains(edition)
    }

    /// Whether something that the pass wrote changed nothing, and nothing else did.
    pub(crate) fn is_in_vain(&self) -> bool {
        let notes = self.0.lock();
        notes.in_vain && notes.editions.is_empty()
    }
}

/// The pass that runs wrote this, in place of a version that it named.
pub(crate) fn wrote(meta: &Meta) {
    // What is written outside of passes brings back no key.
    if let Ok(wrote) = WROTE.try_with(Clone::clone) {
        wrote.0.lock().editions.push(Edition::of(meta));
    }
}

/// The pass that runs wrote something, and the API server has the object as it was before.
pub(crate) fn wrote_in_vain() {
    if let Ok(wrote) = WROTE.try_with(Clone::clone) {
        wrote.0.lock().in_vain = true;
    }
}

/// Tells of an object; what is wished for meanwhile is because of it.
pub(crate) fn telling<T>(meta: &Meta, tell: impl FnOnce() -> T) -> T {
    let _outer = Outer(TOLD.replace(Some(Edition::of(meta))));
    tell()
}

/// Of what a store is just telling, if it is.
pub(crate) fn told() -> Option<Edition> {
    TOLD.with_borrow(Clone::clone)
}

/// What was told before, to be restored also if a subscriber panics.
struct Outer(Option<Edition>);

impl Drop for Outer {
    fn drop(&mut self) {
        TOLD.set(self.0.take());
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
    fn what_is_told_within_something_else_does_not_outlive_it() {
        telling(&meta(1), || {
            telling(&meta(2), || assert_eq!(told(), Some(Edition::of(&meta(2)))));
            assert_eq!(told(), Some(Edition::of(&meta(1))));
        });
        assert_eq!(told(), None);
    }

    #[tokio::test]
    async fn every_pass_collects_what_it_wrote_and_nothing_else() {
        wrote(&meta(1));
        let (one, other) = (Wrote::default(), Wrote::default());
        let write = |version| async move {
            tokio::task::yield_now().await;
            wrote(&meta(version));
        };
        tokio::join!(one.during(write(2)), other.during(write(3)));
        let has = |wrote: &Wrote| [1, 2, 3].map(|n| wrote.contains(&Edition::of(&meta(n))));
        assert_eq!(has(&one), [false, true, false]);
        assert_eq!(has(&other), [false, false, true]);
    }

    #[tokio::test]
    async fn a_pass_is_in_vain_where_nothing_that_it_wrote_changed_anything() {
        let (vain, other) = (Wrote::default(), Wrote::default());
        vain.during(async { wrote_in_vain() }).await;
        other
            .during(async {
                wrote_in_vain();
                wrote(&meta(1));
            })
            .await;
        assert_eq!([vain, other, Wrote::default()].map(|it| it.is_in_vain()), [true, false, false]);
    }
}

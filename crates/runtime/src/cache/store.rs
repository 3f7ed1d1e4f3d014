//! The objects of a cache. A newer object is never replaced by an older one.
//!
//! Two values decide: the version of an object, and the *position*, up to which watch and lists have delivered
//! everything. Watch events and answers to writes at or below the position are ignored. A deleted object leaves a
//! *tombstone* until the watch or a later list confirms it. An object of a list behind the position that the store does
//! not have is *unconfirmed*: a live read decides. A regressed version means a restored cluster; see [`restored`].

mod entry;
mod restored;

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::RwLock;

use self::entry::ByKey;
pub(super) use self::entry::Subscriber;
pub use self::entry::{Change, Entry};
use self::restored::Collected;
use super::kind::Stored;

/// Receives an entry before and after a change, and the position.
type Indexer<T> = Box<dyn Fn(Option<&Entry<T>>, Option<&Entry<T>>, Version) + Send + Sync>;

pub struct Store<T> {
    inner: RwLock<Inner<T>>,
    subscribers: RwLock<Vec<Subscriber<T>>>,
}

struct Inner<T> {
    objects: HashSet<ByKey<T>>,
    position: Version,
    /// Uncertain keys, and how many lists had been started by then.
    uncertain: HashMap<ObjectKey, u64>,
    /// Deleted objects that the watch has not confirmed, and how many lists had been started by then.
    tombstones: HashMap<Uid, u64>,
    lists: u64,
    /// Whether the versions regressed and the content is still the old one.
    outdated: bool,
    /// Called under the lock, so that they agree with the store.
    indexers: Vec<Indexer<T>>,
}

impl<T> std::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let objects = self.inner.read().objects.len();
        f.debug_struct("Store").field("objects", &objects).finish_non_exhaustive()
    }
}

impl<T: Stored> Inner<T> {
    fn get(&self, key: &ObjectKey) -> Option<&Entry<T>> {
        self.objects.get(key).map(|stored| &stored.0)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.objects.iter().map(|stored| &stored.0)
    }

    /// An answer about `key` was lost, or cannot be compared.
    fn mark_uncertain(&mut self, key: &ObjectKey) {
        self.uncertain.insert(key.clone(), self.lists);
    }

    /// A list that started after a deletion confirms it, and is as good as a live read of everything.
    fn settle_older_than(&mut self, list: u64) {
        self.tombstones.retain(|_, lists| *lists >= list);
        self.uncertain.retain(|_, lists| *lists >= list);
    }

    /// Prevents that an older event restores the object.
    fn add_tombstone(&mut self, uid: &Uid) {
        self.tombstones.insert(uid.clone(), self.lists);
    }

    fn replace(&mut self, key: &ObjectKey, after: Option<&Entry<T>>) -> Option<Entry<T>> {
        let before = match after {
            Some(entry) => self.objects.replace(ByKey(entry.clone())),
            None => self.objects.take(key),
        };
        let before = before.map(|stored| stored.0);
        for indexer in &self.indexers {
            indexer(before.as_ref(), after, self.position);
        }
        before
    }

    /// Advances the position; `false` if it is at `version` already.
    fn advance(&mut self, version: Version) -> bool {
        let news = version > self.position;
        if news {
            self.position = version;
        }
        news
    }
}

const LATEST: Version = Version(u64::MAX);

#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    position: Version,
    stored: Option<Version>,
}

pub(super) struct Listing<T> {
    number: u64,
    pub(super) seen: HashSet<ObjectKey>,
    /// Set if the versions regressed.
    collected: Option<Collected<T>>,
    pub(super) repairs: usize,
    /// Keys that only a live read can decide.
    pub(super) unconfirmed: Vec<ObjectKey>,
}

impl<T: Stored> Store<T> {
    pub(super) fn new() -> Self {
        Self {
            inner: RwLock::new(Inner {
                objects: HashSet::new(),
                position: Version::default(),
                uncertain: HashMap::new(),
                tombstones: HashMap::new(),
                lists: 0,
                outdated: false,
                indexers: Vec::new(),
            }),
            subscribers: RwLock::new(Vec::new()),
        }
    }

    pub fn get(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.inner.read().get(key).cloned()
    }

    /// Keys of all objects, undecodable ones included.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.inner.read().objects.iter().map(|stored| stored.key().clone()).collect()
    }

    /// Keys of the decodable objects that match.
    pub fn select(&self, wanted: impl Fn(&T) -> bool) -> Vec<ObjectKey> {
        let inner = self.inner.read();
        let known = inner.entries().filter_map(|entry| match entry {
            Entry::Known(object) if wanted(object) => Some(object.meta().key.clone()),
            _ => None,
        });
        known.collect()
    }

    /// Reads all objects and the position under one lock, so `look` must be quick.
    pub fn survey<R>(
        &self,
        look: impl FnOnce(Version, &mut dyn Iterator<Item = &Entry<T>>) -> R,
    ) -> R {
        let inner = self.inner.read();
        look(inner.position, &mut inner.entries())
    }

    pub(super) fn len(&self) -> usize {
        self.inner.read().objects.len()
    }

    pub(super) fn undecodable(&self) -> usize {
        let inner = self.inner.read();
        inner.entries().filter(|entry| matches!(entry, Entry::Undecodable(_))).count()
    }

    pub(super) fn position(&self) -> Version {
        self.inner.read().position
    }

    /// Whether an answer about `key` was lost, so that a live read is needed.
    pub fn is_uncertain(&self, key: &ObjectKey) -> bool {
        self.inner.read().uncertain.contains_key(key)
    }

    pub(crate) fn mark_uncertain(&self, key: &ObjectKey) {
        self.inner.write().mark_uncertain(key);
    }

    /// Calls `subscriber` for each existing object and for every change. It must not block.
    pub fn subscribe(&self, subscriber: impl Fn(&Change<'_, T>) + Send + Sync + 'static) {
        // Under the lock of the subscribers: a concurrent change is delivered twice rather than never.
        let mut subscribers = self.subscribers.write();
        let present: Vec<_> = self.inner.read().entries().cloned().collect();
        for entry in &present {
            let key = &entry.meta().key;
            subscriber(&Change { key, before: None, after: Some(entry) });
        }
        subscribers.push(Box::new(subscriber));
    }

    /// Calls `indexer` with each existing object and each change, exactly once and before other readers see it, under
    /// the lock: it must be quick and must not use this cache. The third argument is the position: events of the watch
    /// are at it; objects of a list are beyond it and may have changed more than once.
    pub fn attend(
        &self,
        indexer: impl Fn(Option<&Entry<T>>, Option<&Entry<T>>, Version) + Send + Sync + 'static,
    ) {
        let mut inner = self.inner.write();
        for entry in inner.entries() {
            indexer(None, Some(entry), inner.position);
        }
        inner.indexers.push(Box::new(indexer));
    }

    pub(super) fn notify_all(&self) {
        let present: Vec<_> = self.inner.read().entries().cloned().collect();
        for entry in &present {
            let key = &entry.meta().key;
            self.notify(&Change { key, before: Some(entry), after: Some(entry) });
        }
    }

    pub(super) fn watched(&self, entry: &Entry<T>) {
        let version = entry.meta().version;
        self.put(entry, Version::default(), |inner| inner.advance(version));
    }

    /// Applies a deletion from the watch; the version is that of the deletion.
    pub(super) fn watched_deletion(&self, meta: &Meta) {
        self.remove_if(&meta.key, |inner, stored| {
            inner.advance(meta.version) && stored.version <= meta.version
        });
        let mut inner = self.inner.write();
        inner.advance(meta.version);
        inner.tombstones.remove(&meta.uid);
    }

    /// `seen`: the object was cached when the deletion was sent. If it is not now, watch or list have delivered it.
    pub(crate) fn deleted(&self, meta: &Meta, seen: bool) {
        let removed = self.remove_if(&meta.key, |inner, stored| {
            let same = stored.uid == meta.uid;
            if same {
                inner.add_tombstone(&meta.uid);
            }
            same
        });
        if !removed && !seen {
            self.inner.write().add_tombstone(&meta.uid);
        }
    }

    pub(super) fn bookmark(&self, version: Version) {
        self.inner.write().advance(version);
    }

    pub(super) fn written(&self, entry: &Entry<T>) {
        let Meta { key, version, .. } = entry.meta();
        self.put(entry, Version::default(), |inner| {
            let news = *version > inner.position;
            if inner.outdated && !news {
                inner.mark_uncertain(key);
            }
            news
        });
    }

    /// Records the state of a key before a live read, to detect concurrent changes.
    pub(super) fn before_live_read(&self, key: &ObjectKey) -> Observation {
        let inner = self.inner.read();
        let stored = inner.get(key).map(|stored| stored.meta().version);
        Observation { position: inner.position, stored }
    }

    /// Applies a live read. Returns `false` if a concurrent change may be newer, so that another read is needed.
    pub(super) fn read_live(
        &self,
        key: &ObjectKey,
        entry: Option<&Entry<T>>,
        before: Observation,
    ) -> bool {
        let mut newer = self.before_live_read(key).stored != before.stored;
        if let Some(entry) = entry {
            self.put(entry, LATEST, |inner| {
                newer |= inner.get(key).map(|stored| stored.meta().version) != before.stored;
                // Deleted since the read: the current state is unknown.
                newer |= inner.tombstones.contains_key(&entry.meta().uid);
                // Missing from the store: fine, unless the watch advanced and may have delivered its deletion. One that
                // is behind this version has not delivered its deletion yet.
                let moved =
                    inner.position != before.position && inner.position >= entry.meta().version;
                newer |= moved && !inner.objects.contains(key);
                !newer
            });
        } else {
            self.remove_if(key, |inner, stored| {
                newer |= Some(stored.version) != before.stored;
                if !newer {
                    inner.add_tombstone(&stored.uid);
                }
                !newer
            });
        }
        let settled = !newer;
        let mut inner = self.inner.write();
        if settled && !inner.outdated {
            inner.uncertain.remove(key);
        }
        settled
    }

    pub(super) fn listing(&self) -> Listing<T> {
        let mut inner = self.inner.write();
        inner.lists += 1;
        Listing {
            number: inner.lists,
            seen: HashSet::new(),
            collected: None,
            repairs: 0,
            unconfirmed: Vec::new(),
        }
    }

    pub(super) fn listed(&self, listing: &mut Listing<T>, entry: &Entry<T>, at: Version) {
        if let Some(collected) = &mut listing.collected {
            collected.objects.push(entry.clone());
            return;
        }
        let key = entry.meta().key.clone();
        let mut unconfirmed = false;
        let repaired = self.put(entry, at, |inner| {
            let deleted = inner.tombstones.contains_key(&entry.meta().uid);
            unconfirmed = !deleted && inner.position > at && !inner.objects.contains(&key);
            !unconfirmed
        });
        listing.repairs += usize::from(repaired);
        if unconfirmed {
            listing.unconfirmed.push(key.clone());
        }
        listing.seen.insert(key);
    }

    /// Ends a list at version `at`: removes objects that it does not contain, unless they are newer.
    pub(super) fn listing_done(&self, listing: &mut Listing<T>, at: Version) {
        if let Some(collected) = listing.collected.take() {
            match self.restored(listing, collected, at) {
                None => return,
                Some(listed) => listed.iter().for_each(|entry| self.listed(listing, entry, at)),
            }
        }
        let gone: Vec<_> = {
            let inner = self.inner.read();
            let missing = |entry: &&Entry<T>| !listing.seen.contains(&entry.meta().key);
            inner.entries().filter(missing).map(|entry| entry.meta().key.clone()).collect()
        };
        for key in gone {
            let repaired = self.remove_if(&key, |_, stored| stored.version <= at);
            listing.repairs += usize::from(repaired);
        }
        let mut inner = self.inner.write();
        inner.advance(at);
        inner.settle_older_than(listing.number);
    }

    /// Stores an object if `condition` holds and it is newer than the stored one, or that one is not newer than `at`.
    fn put(
        &self,
        entry: &Entry<T>,
        at: Version,
        condition: impl FnOnce(&mut Inner<T>) -> bool,
    ) -> bool {
        let Meta { key, version, .. } = entry.meta();
        let before = {
            let mut inner = self.inner.write();
            let newer = inner
                .get(key)
                .map(|stored| stored.meta().version)
                .is_none_or(|stored| stored < *version || (stored <= at && stored != *version));
            let wanted = condition(&mut inner);
            if !wanted || !newer || inner.tombstones.contains_key(&entry.meta().uid) {
                return false;
            }
            inner.replace(key, Some(entry))
        };
        self.notify(&Change { key, before: before.as_ref(), after: Some(entry) });
        true
    }

    fn remove_if(
        &self,
        key: &ObjectKey,
        condition: impl FnOnce(&mut Inner<T>, &Meta) -> bool,
    ) -> bool {
        let before = {
            let mut inner = self.inner.write();
            let Some(stored) = inner.get(key).map(|stored| stored.meta().clone()) else {
                return false;
            };
            if !condition(&mut inner, &stored) {
                return false;
            }
            inner.replace(key, None)
        };
        self.notify(&Change { key, before: before.as_ref(), after: None });
        true
    }

    fn notify(&self, change: &Change<'_, T>) {
        // One that panics does not keep the others from the change.
        let mut panic = None;
        for subscriber in self.subscribers.read().iter() {
            if let Err(caught) = catch_unwind(AssertUnwindSafe(|| subscriber(change))) {
                panic = Some(caught);
            }
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests;

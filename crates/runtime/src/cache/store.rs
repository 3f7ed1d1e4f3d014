//! The objects of a cache, and the rules by which an older truth never replaces a newer one.
//!
//! Objects arrive by four ways that overtake each other: the watch, lists, answers to our own writes, and live reads. Two facts decide:
//! the version of an object, and the store's *position*, the version up to which watch or list have told everything.
//!
//! * From the watch, what is at or below the position is known already.
//! * An answer to a write that is at or below the position is either known or was undone since: it is ignored.
//! * An object that a list does not have is removed only if it is not newer than the list.
//! * An object that is gone, as a live read or the answer to a deletion of ours says, does not come back by any way: its uid is kept (a
//!   *tombstone*) until the watch has told of the deletion, or a list was read that was begun later.
//! * An object that a list has and the store has not, although the position is past the list, may have been deleted in between: it is *doubtful*,
//!   and a live read decides.
//! * An object that a list or a live read has in an older version than the store, although it is later than what the store knows: the cluster was
//!   restored from a backup. Its versions are believed. Where all of them begin anew, see [`restored`].

mod entry;
mod restored;

use std::collections::{HashMap, HashSet};

use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::RwLock;

use self::entry::ByKey;
pub(super) use self::entry::Subscriber;
pub use self::entry::{Change, Entry};
use self::restored::Collected;
use super::index::Indexer;
use super::kind::Stored;

/// The objects of a cache.
pub(super) struct Store<T> {
    inner: RwLock<Inner<T>>,
    subscribers: RwLock<Vec<Subscriber<T>>>,
}

struct Inner<T> {
    objects: HashSet<ByKey<T>>,
    position: Version,
    /// Keys about which an answer was lost, and how many lists had been begun by then.
    uncertain: HashMap<ObjectKey, u64>,
    /// What is gone although the watch has not said so yet, and how many lists had been begun by then.
    tombstones: HashMap<Uid, u64>,
    /// How many lists have been begun.
    lists: u64,
    /// Whether the cluster went back in time, and what is here is still from before.
    outdated: bool,
    /// Told of every change while the store is locked, so that they agree with it.
    indexers: Vec<Indexer<T>>,
}

impl<T: Stored> Inner<T> {
    fn get(&self, key: &ObjectKey) -> Option<&Entry<T>> {
        self.objects.get(key).map(|stored| &stored.0)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.objects.iter().map(|stored| &stored.0)
    }

    /// An answer about `key` was lost, or cannot be compared with what is here.
    fn doubt(&mut self, key: &ObjectKey) {
        self.uncertain.insert(key.clone(), self.lists);
    }

    /// A list that was asked for after a deletion knows of it; and it is as good as a live read of everything.
    fn settle_older_than(&mut self, list: u64) {
        self.tombstones.retain(|_, lists| *lists >= list);
        self.uncertain.retain(|_, lists| *lists >= list);
    }

    /// Keeps the object with this uid from coming back.
    fn bury(&mut self, uid: &Uid) {
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

    /// Moves the position on; `false` if everything up to `version` was known already.
    fn advance(&mut self, version: Version) -> bool {
        let news = version > self.position;
        if news {
            self.position = version;
        }
        news
    }
}

/// As late as anything can be.
const LATEST: Version = Version(u64::MAX);

/// What the store knew before a live read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glimpse {
    position: Version,
    stored: Option<Version>,
}

/// A list that is being read, page by page.
pub(super) struct Listing<T> {
    /// Which list it is.
    number: u64,
    seen: HashSet<ObjectKey>,
    /// There if the cluster went back in time.
    collected: Option<Collected<T>>,
    /// How many objects the list changed.
    pub(super) repairs: usize,
    /// Keys that only a live read can decide.
    pub(super) doubtful: Vec<ObjectKey>,
}

impl<T> Listing<T> {
    /// Whether the list has this object.
    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.seen.contains(key)
    }
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

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.inner.read().get(key).cloned()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.inner.read().objects.iter().map(|stored| stored.key().clone()).collect()
    }

    pub(super) fn select(&self, wanted: impl Fn(&T) -> bool) -> Vec<ObjectKey> {
        let inner = self.inner.read();
        let known = inner.entries().filter_map(|entry| match entry {
            Entry::Known(object) if wanted(object) => Some(object.meta().key.clone()),
            _ => None,
        });
        known.collect()
    }

    /// Shows the position and every object, while nothing changes.
    pub(super) fn survey<R>(
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

    pub(super) fn is_uncertain(&self, key: &ObjectKey) -> bool {
        self.inner.read().uncertain.contains_key(key)
    }

    pub(super) fn mark_uncertain(&self, key: &ObjectKey) {
        self.inner.write().doubt(key);
    }

    pub(super) fn subscribe(&self, subscriber: Subscriber<T>) {
        // Subscribed first and replayed after: a change in between is told twice, not never.
        let mut subscribers = self.subscribers.write();
        let present: Vec<_> = self.inner.read().entries().cloned().collect();
        for entry in &present {
            let key = &entry.meta().key;
            subscriber(&Change { key, before: None, after: Some(entry) });
        }
        subscribers.push(subscriber);
    }

    /// Keeps an index of everything that is here and will be.
    pub(super) fn add_indexer(&self, indexer: Indexer<T>) {
        let mut inner = self.inner.write();
        for entry in inner.entries() {
            indexer(None, Some(entry), inner.position);
        }
        inner.indexers.push(indexer);
    }

    /// Tells subscribers of everything once more, although nothing changed.
    pub(super) fn tell_all(&self) {
        let present: Vec<_> = self.inner.read().entries().cloned().collect();
        for entry in &present {
            let key = &entry.meta().key;
            self.tell(&Change { key, before: Some(entry), after: Some(entry) });
        }
    }

    /// An object as the watch tells it.
    pub(super) fn watched(&self, entry: &Entry<T>) {
        let version = entry.meta().version;
        self.put_if(entry, |inner| inner.advance(version));
    }

    /// A deletion as the watch tells it; the version is that of the deletion.
    pub(super) fn watched_deletion(&self, meta: &Meta) {
        self.remove_if(&meta.key, |inner, stored| {
            inner.advance(meta.version) && stored.version <= meta.version
        });
        let mut inner = self.inner.write();
        inner.advance(meta.version);
        inner.tombstones.remove(&meta.uid);
    }

    /// The object with this uid is gone, as the answer to a deletion of ours tells it. `seen` says whether it was here when the deletion went
    /// out: if it was and is not now, watch or list have told already.
    pub(super) fn deleted(&self, meta: &Meta, seen: bool) {
        let removed = self.remove_if(&meta.key, |inner, stored| {
            let same = stored.uid == meta.uid;
            if same {
                inner.bury(&meta.uid);
            }
            same
        });
        if !removed && !seen {
            self.inner.write().bury(&meta.uid);
        }
    }

    /// Everything up to `version` has been told.
    pub(super) fn bookmark(&self, version: Version) {
        self.inner.write().advance(version);
    }

    /// An object as the answer to a write of ours tells it.
    pub(super) fn written(&self, entry: &Entry<T>) {
        let Meta { key, version, .. } = entry.meta();
        self.put_if(entry, |inner| {
            let news = *version > inner.position;
            if inner.outdated && !news {
                inner.doubt(key);
            }
            news
        });
    }

    /// What the store knows before a live read, to tell afterwards whether something newer came in between.
    pub(super) fn glimpse(&self, key: &ObjectKey) -> Glimpse {
        let inner = self.inner.read();
        let stored = inner.get(key).map(|stored| stored.meta().version);
        Glimpse { position: inner.position, stored }
    }

    /// An object as a live read tells it: `None` means that it does not exist. Returns whether that settles it; if not, something came in
    /// between that may be newer, and only another read can tell.
    pub(super) fn read_live(
        &self,
        key: &ObjectKey,
        entry: Option<&Entry<T>>,
        before: Glimpse,
    ) -> bool {
        let mut newer = self.glimpse(key).stored != before.stored;
        if let Some(entry) = entry {
            self.put(entry, LATEST, |inner| {
                newer |= inner.get(key).map(|stored| stored.meta().version) != before.stored;
                // Read before it was deleted: what is there now is not known.
                newer |= inner.tombstones.contains_key(&entry.meta().uid);
                // Not there although it was read: fine, unless the watch went on and may have told of its deletion.
                let moved = inner.position != before.position;
                newer |= moved && !inner.objects.contains(key);
                !newer
            });
        } else {
            self.remove_if(key, |inner, stored| {
                newer |= Some(stored.version) != before.stored;
                if !newer {
                    inner.bury(&stored.uid);
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

    /// A list is about to be asked for.
    pub(super) fn listing(&self) -> Listing<T> {
        let mut inner = self.inner.write();
        inner.lists += 1;
        Listing {
            number: inner.lists,
            seen: HashSet::new(),
            collected: None,
            repairs: 0,
            doubtful: Vec::new(),
        }
    }

    /// One object of a list that is true at version `at`.
    pub(super) fn listed(&self, listing: &mut Listing<T>, entry: &Entry<T>, at: Version) {
        if let Some(collected) = &mut listing.collected {
            collected.objects.push(entry.clone());
            return;
        }
        let key = entry.meta().key.clone();
        let mut doubtful = false;
        let repaired = self.put(entry, at, |inner| {
            let buried = inner.tombstones.contains_key(&entry.meta().uid);
            doubtful = !buried && inner.position > at && !inner.objects.contains(&key);
            !doubtful
        });
        listing.repairs += usize::from(repaired);
        if doubtful {
            listing.doubtful.push(key.clone());
        }
        listing.seen.insert(key);
    }

    /// The end of a list that is true at version `at`: what it did not have and is not newer is gone.
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

    /// Stores an object if it is newer than the stored one and `condition`, under the same lock, holds.
    fn put_if(&self, entry: &Entry<T>, condition: impl FnOnce(&mut Inner<T>) -> bool) -> bool {
        self.put(entry, Version::default(), condition)
    }

    /// The same of an object that is true at version `at`: a stored one that is not newer than that gives way to an older one, too.
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
        self.tell(&Change { key, before: before.as_ref(), after: Some(entry) });
        true
    }

    /// Removes an object if `condition`, under the same lock, holds for it.
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
        self.tell(&Change { key, before: before.as_ref(), after: None });
        true
    }

    fn tell(&self, change: &Change<'_, T>) {
        for subscriber in self.subscribers.read().iter() {
            subscriber(change);
        }
    }
}

#[cfg(test)]
mod tests;

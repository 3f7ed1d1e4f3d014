//! The objects of a cache, and the rules by which an older truth never replaces a newer one.
//!
//! Objects arrive by four ways that overtake each other: the watch, lists, answers to our own writes, and live reads. Two facts decide:
//! the version of an object, and the store's *position*, the version up to which watch or list have told everything.
//!
//! * From the watch, what is at or below the position is known already.
//! * An answer to a write that is at or below the position is either known or was undone since: it is ignored.
//! * An object that a list does not have is removed only if it is not newer than the list.
//! * An object that a list has and the store has not, although the position is past the list, may have been deleted in between: it is *doubtful*,
//!   and a live read decides.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::meta::Meta;
use parking_lot::RwLock;

use super::decode::Undecodable;
use super::kind::Stored;

/// An object in a store.
#[derive(Debug)]
pub enum Entry<T> {
    /// One that we understand.
    Known(Arc<T>),
    /// One that is there, but cannot be decoded.
    Undecodable(Arc<Undecodable>),
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Known(object) => Self::Known(Arc::clone(object)),
            Self::Undecodable(object) => Self::Undecodable(Arc::clone(object)),
        }
    }
}

impl<T: Stored> Entry<T> {
    /// Identity and version.
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Known(object) => object.meta(),
            Self::Undecodable(object) => &object.meta,
        }
    }
}

/// A change of a store, for subscribers.
#[derive(Debug)]
pub struct Change<'a, T> {
    /// Which object.
    pub key: &'a ObjectKey,
    /// What it was; `None` if it was not there.
    pub before: Option<&'a Entry<T>>,
    /// What it is; `None` if it is gone.
    pub after: Option<&'a Entry<T>>,
}

/// Hears of every change, and must not block.
pub(super) type Subscriber<T> = Box<dyn Fn(&Change<'_, T>) + Send + Sync>;

/// The objects of a cache.
pub(super) struct Store<T> {
    inner: RwLock<Inner<T>>,
    subscribers: RwLock<Vec<Subscriber<T>>>,
}

struct Inner<T> {
    objects: HashMap<ObjectKey, Entry<T>>,
    position: Version,
    uncertain: HashSet<ObjectKey>,
}

impl<T> Inner<T> {
    /// Moves the position on; `false` if everything up to `version` was known already.
    fn advance(&mut self, version: Version) -> bool {
        let news = version > self.position;
        if news {
            self.position = version;
        }
        news
    }
}

/// What the store knew before a live read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Glimpse {
    position: Version,
    stored: Option<Version>,
}

/// A list that is being read, page by page.
#[derive(Debug, Default)]
pub(super) struct Listing {
    seen: HashSet<ObjectKey>,
    /// How many objects the list changed.
    pub(super) repairs: usize,
    /// Keys that only a live read can decide.
    pub(super) doubtful: Vec<ObjectKey>,
}

impl<T: Stored> Store<T> {
    pub(super) fn new() -> Self {
        Self {
            inner: RwLock::new(Inner {
                objects: HashMap::new(),
                position: Version::default(),
                uncertain: HashSet::new(),
            }),
            subscribers: RwLock::new(Vec::new()),
        }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.inner.read().objects.get(key).cloned()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.inner.read().objects.keys().cloned().collect()
    }

    pub(super) fn select(&self, wanted: impl Fn(&T) -> bool) -> Vec<ObjectKey> {
        let inner = self.inner.read();
        let known = inner.objects.iter().filter_map(|(key, entry)| match entry {
            Entry::Known(object) if wanted(object) => Some(key.clone()),
            _ => None,
        });
        known.collect()
    }

    pub(super) fn len(&self) -> usize {
        self.inner.read().objects.len()
    }

    pub(super) fn undecodable(&self) -> usize {
        let inner = self.inner.read();
        inner.objects.values().filter(|entry| matches!(entry, Entry::Undecodable(_))).count()
    }

    pub(super) fn position(&self) -> Version {
        self.inner.read().position
    }

    pub(super) fn is_uncertain(&self, key: &ObjectKey) -> bool {
        self.inner.read().uncertain.contains(key)
    }

    pub(super) fn mark_uncertain(&self, key: &ObjectKey) {
        self.inner.write().uncertain.insert(key.clone());
    }

    pub(super) fn subscribe(&self, subscriber: Subscriber<T>) {
        // Subscribed first and replayed after: a change in between is told twice, not never.
        let mut subscribers = self.subscribers.write();
        let present: Vec<_> = self.inner.read().objects.values().cloned().collect();
        for entry in &present {
            let key = &entry.meta().key;
            subscriber(&Change { key, before: None, after: Some(entry) });
        }
        subscribers.push(subscriber);
    }

    /// Tells subscribers of everything once more, although nothing changed.
    pub(super) fn tell_all(&self) {
        let present: Vec<_> = self.inner.read().objects.values().cloned().collect();
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
            inner.advance(meta.version) && stored <= meta.version
        });
        self.bookmark(meta.version);
    }

    /// Everything up to `version` has been told.
    pub(super) fn bookmark(&self, version: Version) {
        self.inner.write().advance(version);
    }

    /// An object as the answer to a write of ours tells it.
    pub(super) fn written(&self, entry: &Entry<T>) {
        let version = entry.meta().version;
        self.put_if(entry, |inner| version > inner.position);
    }

    /// What the store knows before a live read, to tell afterwards whether something newer came in between.
    pub(super) fn glimpse(&self, key: &ObjectKey) -> Glimpse {
        let inner = self.inner.read();
        let stored = inner.objects.get(key).map(|stored| stored.meta().version);
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
            self.put_if(entry, |inner| {
                // Not there although it was read: fine, unless the watch went on and may have told of its deletion.
                let moved = inner.position != before.position;
                newer |= moved && !inner.objects.contains_key(key);
                !newer
            });
        } else {
            self.remove_if(key, |_, stored| {
                newer |= Some(stored) != before.stored;
                !newer
            });
        }
        let settled = !newer;
        if settled {
            self.inner.write().uncertain.remove(key);
        }
        settled
    }

    /// Forgets everything: the cluster was restored from a backup, and its versions have begun anew.
    pub(super) fn rewind(&self) {
        let gone = {
            let mut inner = self.inner.write();
            inner.position = Version::default();
            std::mem::take(&mut inner.objects)
        };
        for (key, entry) in &gone {
            self.tell(&Change { key, before: Some(entry), after: None });
        }
    }

    /// One object of a list that is true at version `at`.
    pub(super) fn listed(&self, listing: &mut Listing, entry: &Entry<T>, at: Version) {
        let key = entry.meta().key.clone();
        let mut doubtful = false;
        let repaired = self.put_if(entry, |inner| {
            doubtful = inner.position > at && !inner.objects.contains_key(&key);
            !doubtful
        });
        listing.repairs += usize::from(repaired);
        if doubtful {
            listing.doubtful.push(key.clone());
        }
        listing.seen.insert(key);
    }

    /// The end of a list that is true at version `at`: what it did not have and is not newer is gone.
    pub(super) fn listing_done(&self, listing: &mut Listing, at: Version) {
        let gone: Vec<_> = {
            let inner = self.inner.read();
            let missing = |entry: &&Entry<T>| !listing.seen.contains(&entry.meta().key);
            inner.objects.values().filter(missing).map(|entry| entry.meta().key.clone()).collect()
        };
        for key in gone {
            listing.repairs += usize::from(self.remove_if(&key, |_, stored| stored <= at));
        }
        self.bookmark(at);
    }

    /// Stores an object if it is newer than the stored one and `condition`, under the same lock, holds.
    fn put_if(&self, entry: &Entry<T>, condition: impl FnOnce(&mut Inner<T>) -> bool) -> bool {
        let key = entry.meta().key.clone();
        let before = {
            let mut inner = self.inner.write();
            let stored = inner.objects.get(&key);
            let newer = stored.is_none_or(|stored| stored.meta().version < entry.meta().version);
            if !condition(&mut inner) || !newer {
                return false;
            }
            inner.objects.insert(key.clone(), entry.clone())
        };
        self.tell(&Change { key: &key, before: before.as_ref(), after: Some(entry) });
        true
    }

    /// Removes an object if `condition`, under the same lock, holds for its version.
    fn remove_if(
        &self,
        key: &ObjectKey,
        condition: impl FnOnce(&mut Inner<T>, Version) -> bool,
    ) -> bool {
        let before = {
            let mut inner = self.inner.write();
            let Some(stored) = inner.objects.get(key).map(|stored| stored.meta().version) else {
                return false;
            };
            if !condition(&mut inner, stored) {
                return false;
            }
            inner.objects.remove(key)
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

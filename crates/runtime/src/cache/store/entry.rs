//! What a store holds, and how it tells of changes.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use crate::cache::decode::Undecodable;
use crate::cache::kind::Stored;
use crate::self_writes::Revision;

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

/// An entry that a set finds by the key inside of it. A map would keep each key a second time.
pub(super) struct ByKey<T>(pub(super) Entry<T>);

impl<T: Stored> ByKey<T> {
    pub(super) fn key(&self) -> &ObjectKey {
        &self.0.meta().key
    }
}

impl<T: Stored> Borrow<ObjectKey> for ByKey<T> {
    fn borrow(&self) -> &ObjectKey {
        self.key()
    }
}

impl<T: Stored> Hash for ByKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl<T: Stored> PartialEq for ByKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T: Stored> Eq for ByKey<T> {}

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

impl<T: Stored> Change<'_, T> {
    /// Whether it differs from what was told before: a resync tells everything again. Who has a resync of their own needs no more than news.
    pub fn is_news(&self) -> bool {
        let before = self.before.map(|entry| entry.meta().version);
        before != self.after.map(|entry| entry.meta().version)
    }

    /// The revision that the change brings. Deletions and resyncs have none.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.after.filter(|_| self.is_news()).map(|entry| Revision::of(entry.meta()))
    }
}

/// Hears of every change, and must not block.
pub(in crate::cache) type Subscriber<T> = Box<dyn Fn(&Change<'_, T>) + Send + Sync>;

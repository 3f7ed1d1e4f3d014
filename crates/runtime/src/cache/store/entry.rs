use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;

use crate::cache::decode::Undecodable;
use crate::cache::kind::Stored;
use crate::self_writes::Revision;

#[derive(Debug)]
pub enum Entry<T> {
    Known(Arc<T>),
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

impl<T> Entry<T> {
    pub fn known(&self) -> Option<&Arc<T>> {
        match self {
            Self::Known(object) => Some(object),
            Self::Undecodable(_) => None,
        }
    }
}

impl<T: Stored> Entry<T> {
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Known(object) => object.meta(),
            Self::Undecodable(object) => &object.meta,
        }
    }
}

/// An entry that a set finds by its own key; a map would store each key twice.
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

#[derive(Debug)]
pub struct Change<'a, T> {
    pub key: &'a ObjectKey,
    pub before: Option<&'a Entry<T>>,
    /// The new entry; `None` if deleted.
    pub after: Option<&'a Entry<T>>,
}

impl<T: Stored> Change<'_, T> {
    /// Whether the object differs from the previous entry: `false` for a resync.
    pub fn is_news(&self) -> bool {
        let before = self.before.map(|entry| entry.meta().version);
        before != self.after.map(|entry| entry.meta().version)
    }

    /// The new revision. Deletions and resyncs have none.
    pub(crate) fn revision(&self) -> Option<Revision> {
        self.after.filter(|_| self.is_news()).map(|entry| Revision::of(entry.meta()))
    }
}

pub(in crate::cache) type Subscriber<T> = Box<dyn Fn(&Change<'_, T>) + Send + Sync>;

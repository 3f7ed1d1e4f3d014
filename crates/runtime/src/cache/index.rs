//! Secondary indexes of a cache. An index changes with its store under the same lock, own writes and deletions
//! included. It holds keys, not objects.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use parking_lot::RwLock;

use super::store::Entry;

#[derive(Debug, Default)]
pub struct Index {
    by_term: RwLock<HashMap<Arc<str>, Keys>>,
}

/// Most terms have one object, and a set needs ten times the memory.
#[derive(Debug)]
enum Keys {
    One(ObjectKey),
    Many(BTreeSet<ObjectKey>),
}

impl Index {
    /// The sorted keys of all objects with this term.
    pub fn get(&self, term: &str) -> Vec<ObjectKey> {
        match self.by_term.read().get(term) {
            None => Vec::new(),
            Some(Keys::One(key)) => vec![key.clone()],
            Some(Keys::Many(keys)) => keys.iter().cloned().collect(),
        }
    }

    fn insert(&self, term: Arc<str>, key: &ObjectKey) {
        let mut by_term = self.by_term.write();
        // Key and term are replaced too: the old ones would keep the strings of the former object alive.
        let keys = match by_term.remove(&term) {
            Some(Keys::One(present)) if present != *key => {
                Keys::Many(BTreeSet::from([present, key.clone()]))
            }
            None | Some(Keys::One(_)) => Keys::One(key.clone()),
            Some(Keys::Many(mut many)) => {
                many.replace(key.clone());
                Keys::Many(many)
            }
        };
        by_term.insert(term, keys);
    }

    fn remove(&self, term: &str, key: &ObjectKey) {
        let mut by_term = self.by_term.write();
        let empty = match by_term.get_mut(term) {
            None => false,
            Some(Keys::One(present)) => present == key,
            Some(Keys::Many(keys)) => {
                keys.remove(key);
                keys.is_empty()
            }
        };
        if empty {
            by_term.remove(term);
        }
    }
}

pub(super) fn keeper<T: super::kind::Stored>(
    index: Arc<Index>,
    of: impl Fn(&Entry<T>) -> Vec<Arc<str>> + Send + Sync + 'static,
) -> impl Fn(Option<&Entry<T>>, Option<&Entry<T>>, Version) + Send + Sync + 'static {
    move |before: Option<&Entry<T>>, after: Option<&Entry<T>>, _| {
        let (old, new) = (before.map(&of).unwrap_or_default(), after.map(&of).unwrap_or_default());
        if let Some(entry) = before {
            for term in old.iter().filter(|term| !new.contains(term)) {
                index.remove(term, &entry.meta().key);
            }
        }
        if let Some(entry) = after {
            for term in new {
                index.insert(term, &entry.meta().key);
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Secondary indexes of a cache, such as the Machines of a MachineSet.
//!
//! An index changes with its store under the same lock, own writes and deletions included. It holds keys, not objects.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use parking_lot::RwLock;

use super::store::Entry;

/// Keys of objects by index term.
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

/// Receives an entry before and after a change, and the position of the store.
pub(super) type Indexer<T> =
    Box<dyn Fn(Option<&Entry<T>>, Option<&Entry<T>>, Version) + Send + Sync>;

/// An indexer for the terms that `of` returns.
pub(super) fn keeper<T: super::kind::Stored>(
    index: Arc<Index>,
    of: impl Fn(&Entry<T>) -> Vec<Arc<str>> + Send + Sync + 'static,
) -> Indexer<T> {
    Box::new(move |before, after, _| {
        let old = before.map(|entry| (entry, of(entry)));
        let new = after.map(|entry| (entry, of(entry)));
        if let Some((entry, terms)) = &old {
            let kept =
                |term: &Arc<str>| new.as_ref().is_some_and(|(_, terms)| terms.contains(term));
            for term in terms.iter().filter(|term| !kept(term)) {
                index.remove(term, &entry.meta().key);
            }
        }
        if let Some((entry, terms)) = new {
            for term in terms {
                index.insert(term, &entry.meta().key);
            }
        }
    })
}

#[cfg(test)]
mod tests;

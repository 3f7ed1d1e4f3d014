//! Objects of a cache by something else than their key: all machines of a set, the machine of a node.
//!
//! An index changes with its store, under the same lock: whoever finds an object in the store finds it in the index, own writes and deletions
//! included. It holds keys, not objects: an object that is needed is looked up.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use parking_lot::RwLock;

use super::store::Entry;

/// Keys of objects by a term that was made from each.
#[derive(Debug, Default)]
pub struct Index {
    by_term: RwLock<HashMap<Arc<str>, Keys>>,
}

/// Mostly one term has one object (a node, a provider id), and a set costs ten times as much.
#[derive(Debug)]
enum Keys {
    One(ObjectKey),
    Many(BTreeSet<ObjectKey>),
}

impl Index {
    /// The keys of all objects with this term, in order.
    pub fn get(&self, term: &str) -> Vec<ObjectKey> {
        match self.by_term.read().get(term) {
            None => Vec::new(),
            Some(Keys::One(key)) => vec![key.clone()],
            Some(Keys::Many(keys)) => keys.iter().cloned().collect(),
        }
    }

    fn insert(&self, term: Arc<str>, key: &ObjectKey) {
        let mut by_term = self.by_term.write();
        // Taken out and put in again, key and term alike: those of the former object would keep its strings alive.
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

/// What a store tells an index of one object: its entry before and after a change, and the position of the store.
pub(super) type Indexer<T> =
    Box<dyn Fn(Option<&Entry<T>>, Option<&Entry<T>>, Version) + Send + Sync>;

/// Keeps `index` by the terms that `of` makes.
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

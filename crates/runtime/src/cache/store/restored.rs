//! A cluster that was restored from a backup: its versions regressed.
//!
//! The pages of the first older list are collected and replace the store at once, because a partial list looks like
//! mass deletion. Until then, writes fail by their preconditions, and the key of an answered one becomes uncertain.

use std::collections::HashSet;

use machinist_domain::key::Version;

use super::{Change, Entry, Listing, Store};
use crate::cache::kind::Stored;

pub(super) struct Collected<T> {
    /// A position that the restored cluster has not reached.
    beyond: Version,
    pub(super) objects: Vec<Entry<T>>,
}

impl<T: Stored> Store<T> {
    /// The list is older than `known`, the position before it was requested. From now on it is only collected.
    pub(in crate::cache) fn regressed(&self, listing: &mut Listing<T>, known: Version) {
        let mut inner = self.inner.write();
        // Otherwise a concurrent list has replaced the content already.
        if inner.position >= known {
            inner.outdated = true;
            listing.collected = Some(Collected { beyond: known, objects: Vec::new() });
        }
    }

    /// Replaces all content by the collected list at version `at`. Returns the list if a concurrent list was faster.
    pub(super) fn restored(
        &self,
        listing: &mut Listing<T>,
        collected: Collected<T>,
        at: Version,
    ) -> Option<Vec<Entry<T>>> {
        let Collected { beyond, objects } = collected;
        let mut changes = Vec::new();
        {
            let mut inner = self.inner.write();
            if inner.position < beyond {
                return Some(objects);
            }
            inner.outdated = false;
            // The watch has delivered nothing of this cluster yet.
            inner.position = Version::default();
            // Deleted objects may exist again under the same uid.
            inner.settle_older_than(listing.number);
            let listed: HashSet<_> = objects.iter().map(|entry| &entry.meta().key).collect();
            let stored = inner.entries().map(|entry| &entry.meta().key);
            let gone: Vec<_> = stored.filter(|key| !listed.contains(key)).cloned().collect();
            for key in gone {
                let before = inner.replace(&key, None);
                changes.push((key, before, None));
            }
            for entry in objects {
                if !inner.tombstones.contains_key(&entry.meta().uid) {
                    let key = entry.meta().key.clone();
                    let before = inner.replace(&key, Some(&entry));
                    changes.push((key, before, Some(entry)));
                }
            }
            inner.position = at;
        }
        listing.repairs += changes.len();
        for (key, before, after) in &changes {
            self.notify(&Change { key, before: before.as_ref(), after: after.as_ref() });
        }
        None
    }
}

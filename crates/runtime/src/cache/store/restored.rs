//! What a store does when the cluster was restored from a backup: versions begin anew, and what is known lies in the cluster's future.
//!
//! Input: a list that is older than what was known before it was asked for. Output: the store as that list has it, at once. Until the last page is
//! there nothing changes: half of a list looks as if everything else were gone, and somebody would act on that. What is here meanwhile
//! is out of date, as it was before anybody noticed; writes that follow from it fail by their preconditions.
//!
//! An answer to a write of ours that comes meanwhile cannot be compared with what is here. Its key is uncertain until the list is in place.

use std::collections::HashSet;

use machinist_domain::key::Version;

use super::{Change, Entry, Listing, Store};
use crate::cache::kind::Stored;

/// A list of a cluster that went back in time, as far as it was read.
pub(super) struct Collected<T> {
    /// The position that nothing in this cluster has reached.
    beyond: Version,
    pub(super) objects: Vec<Entry<T>>,
}

impl<T: Stored> Store<T> {
    /// The list is older than `known`, the position from before it was asked for. From now on it is only collected.
    pub(in crate::cache) fn went_back(&self, listing: &mut Listing<T>, known: Version) {
        let mut inner = self.inner.write();
        // Otherwise another list was faster, and what is here is of this cluster already.
        if inner.position >= known {
            inner.outdated = true;
            listing.collected = Some(Collected { beyond: known, objects: Vec::new() });
        }
    }

    /// Puts what was collected, which is true at version `at`, in the place of everything. Gives it back if another list was faster: then it is
    /// a list like any other.
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
            // Nothing of this cluster has been told before.
            inner.position = Version::default();
            // What was deleted before may be there again, under the same uid.
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
            self.tell(&Change { key, before: before.as_ref(), after: after.as_ref() });
        }
        None
    }
}

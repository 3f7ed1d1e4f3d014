//! A change of annotations as data: only what differs, so that an empty change is never written.

use std::collections::BTreeMap;

/// Annotations to set or to remove; those that are not named stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotationChange {
    changes: BTreeMap<&'static str, Option<String>>,
}

impl AnnotationChange {
    /// Wants `key` to be `value`; nothing is recorded where it is so already.
    pub fn want(&mut self, key: &'static str, current: Option<&str>, value: &str) {
        if current != Some(value) {
            self.changes.insert(key, Some(value.to_owned()));
        }
    }

    /// Wants `key` to be gone; nothing is recorded where it is so already.
    pub fn remove(&mut self, key: &'static str, current: Option<&str>) {
        if current.is_some() {
            self.changes.insert(key, None);
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The keys and their new values, `None` for those that go, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.changes.iter().map(|(key, value)| (*key, value.as_deref()))
    }
}

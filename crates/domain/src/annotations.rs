//! A change of annotations as data: only what differs, so that an empty change is never written.

use std::collections::BTreeMap;

/// Annotations to set; those that are not named stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotationChange {
    set: BTreeMap<&'static str, String>,
}

impl AnnotationChange {
    /// Wants `key` to be `value`; nothing is recorded where it is so already.
    pub fn want(&mut self, key: &'static str, current: Option<&str>, value: &str) {
        if current != Some(value) {
            self.set.insert(key, value.to_owned());
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The keys and their new values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.set.iter().map(|(key, value)| (*key, value.as_str()))
    }
}

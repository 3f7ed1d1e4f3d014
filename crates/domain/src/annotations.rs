//! A change of annotations as data. It contains only differences, so an empty change is never written.

use std::collections::BTreeMap;

/// Annotations to set or to remove; all others stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotationChange {
    changes: BTreeMap<&'static str, Option<String>>,
}

impl AnnotationChange {
    /// Sets `key` to `value`, unless it has that value.
    pub fn want(&mut self, key: &'static str, current: Option<&str>, value: &str) {
        if current != Some(value) {
            self.changes.insert(key, Some(value.to_owned()));
        }
    }

    /// Removes `key`, if it exists.
    pub fn remove(&mut self, key: &'static str, current: Option<&str>) {
        if current.is_some() {
            self.changes.insert(key, None);
        }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The keys and their new values (`None` if removed), sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.changes.iter().map(|(key, value)| (*key, value.as_deref()))
    }
}

//! The marker: what the annotator last wrote, kept beside it.
//!
//! `v1:cpu=4,memory=16384Mi,arch=amd64,…` A key whose value is still what the marker says is ours; anything else that
//! stands there is a user's. No value of ours has a comma in it (see `wanted`), so nothing is escaped.
//! `kept=cpu/memory` at its end lists the keys of a user's that were left, so that this is told once and not for as
//! long as it is true.

const PREFIX: &str = "v1:";
/// What the marker calls the list of keys that were left. No key or label pair has this name.
pub(super) const KEPT: &str = "kept";

/// What was found where the marker is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    /// The pairs that were written; none where there is no marker, or one that nobody can have written.
    Wrote(&'a str),
    /// A newer machinist wrote it, in a way that we do not understand: it is left alone.
    Newer,
}

impl<'a> Marker<'a> {
    pub(super) fn read(annotation: Option<&'a str>) -> Self {
        let text = annotation.unwrap_or("");
        match text.strip_prefix(PREFIX) {
            Some(pairs) => Self::Wrote(pairs),
            None if is_versioned(text) => Self::Newer,
            None => Self::Wrote(""),
        }
    }

    /// What was written under a short name.
    pub(super) fn wrote(&self, short: &str) -> Option<&'a str> {
        let Self::Wrote(pairs) = self else { return None };
        let mut pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == short).then_some(value))
    }

    /// Whether somebody heard that a user's key of this short name is left.
    pub(super) fn told_kept(&self, short: &str) -> bool {
        self.wrote(KEPT).is_some_and(|list| list.split('/').any(|name| name == short))
    }
}

/// Whether it begins as a marker of some version would.
fn is_versioned(text: &str) -> bool {
    let version = text.strip_prefix('v').and_then(|rest| rest.split_once(':'));
    version.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// A marker in the making.
#[derive(Debug)]
pub(super) struct Record(String);

impl Default for Record {
    fn default() -> Self {
        Self(PREFIX.to_owned())
    }
}

impl Record {
    pub(super) fn add(&mut self, short: &str, value: &str) {
        if self.0.len() > PREFIX.len() {
            self.0.push(',');
        }
        self.0.push_str(short);
        self.0.push('=');
        self.0.push_str(value);
    }

    /// The short names of the keys that were left, after everything else.
    pub(super) fn add_kept(&mut self, shorts: &[&str]) {
        if !shorts.is_empty() {
            self.add(KEPT, &shorts.join("/"));
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_read_again() {
        let mut record = Record::default();
        record.add("cpu", "4");
        record.add("gpu-type", "nvidia.com/gpu");
        assert_eq!(record.as_str(), "v1:cpu=4,gpu-type=nvidia.com/gpu");
        let marker = Marker::read(Some(record.as_str()));
        assert_eq!(marker.wrote("gpu-type"), Some("nvidia.com/gpu"));
        assert_eq!(marker.wrote("gpu"), None);
    }

    #[test]
    fn what_was_kept_is_remembered_by_name() {
        let mut record = Record::default();
        record.add_kept(&[]);
        assert_eq!(record.as_str(), "v1:");
        record.add("memory", "8Mi");
        record.add_kept(&["cpu", "gpu-count"]);
        assert_eq!(record.as_str(), "v1:memory=8Mi,kept=cpu/gpu-count");
        let marker = Marker::read(Some(record.as_str()));
        assert!(marker.told_kept("cpu") && marker.told_kept("gpu-count"));
        assert!(!marker.told_kept("gpu") && !marker.told_kept("memory"));
    }

    #[test]
    fn newer_markers_are_told_from_nonsense() {
        assert_eq!(Marker::read(Some("v2:whatever")), Marker::Newer);
        for nonsense in ["", "v", "v:", "vx:1", "cpu=4", "1:cpu=4"] {
            assert_eq!(Marker::read(Some(nonsense)), Marker::Wrote(""), "{nonsense}");
        }
        assert_eq!(Marker::read(None), Marker::Wrote(""));
    }
}

//! The marker: what the annotator wrote last, as an annotation.
//!
//! `v1:cpu=4,memory=16384Mi,arch=amd64,…` A key that still has the value of the marker is ours; any other value is a
//! user's. No value contains a comma (see `wanted`), so nothing is escaped. `kept=cpu/memory` lists the keys of users
//! that were reported as kept, so that each is reported once.

const PREFIX: &str = "v1:";
/// The name of the list of kept keys. No key or label pair has it.
pub(super) const KEPT: &str = "kept";

/// The content of the marker annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    /// The written pairs; empty without a valid marker.
    Wrote(&'a str),
    /// Written by a newer version in an unknown format: unchanged.
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

    /// The written value of a short name.
    pub(super) fn wrote(&self, short: &str) -> Option<&'a str> {
        let Self::Wrote(pairs) = self else { return None };
        let mut pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == short).then_some(value))
    }

    /// Whether this kept key was reported.
    pub(super) fn reported_kept(&self, short: &str) -> bool {
        self.wrote(KEPT).is_some_and(|list| list.split('/').any(|name| name == short))
    }
}

/// Whether it starts like a marker of some version.
fn is_versioned(text: &str) -> bool {
    let version = text.strip_prefix('v').and_then(|rest| rest.split_once(':'));
    version.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// Builds a marker.
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

    /// Adds the short names of kept keys at the end.
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
    fn markers_survive_a_round_trip() {
        let mut record = Record::default();
        record.add("cpu", "4");
        record.add("gpu-type", "nvidia.com/gpu");
        assert_eq!(record.as_str(), "v1:cpu=4,gpu-type=nvidia.com/gpu");
        let marker = Marker::read(Some(record.as_str()));
        assert_eq!(marker.wrote("gpu-type"), Some("nvidia.com/gpu"));
        assert_eq!(marker.wrote("gpu"), None);
    }

    #[test]
    fn remembers_reported_keys_by_name() {
        let mut record = Record::default();
        record.add_kept(&[]);
        assert_eq!(record.as_str(), "v1:");
        record.add("memory", "8Mi");
        record.add_kept(&["cpu", "gpu-count"]);
        assert_eq!(record.as_str(), "v1:memory=8Mi,kept=cpu/gpu-count");
        let marker = Marker::read(Some(record.as_str()));
        assert!(marker.reported_kept("cpu") && marker.reported_kept("gpu-count"));
        assert!(!marker.reported_kept("gpu") && !marker.reported_kept("memory"));
    }

    #[test]
    fn distinguishes_newer_markers_from_garbage() {
        assert_eq!(Marker::read(Some("v2:whatever")), Marker::Newer);
        for nonsense in ["", "v", "v:", "vx:1", "cpu=4", "1:cpu=4"] {
            assert_eq!(Marker::read(Some(nonsense)), Marker::Wrote(""), "{nonsense}");
        }
        assert_eq!(Marker::read(None), Marker::Wrote(""));
    }
}

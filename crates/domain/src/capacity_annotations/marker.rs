//! The marker: what the annotator wrote last, as an annotation.
//!
//! `v1:cpu=4,memory=16384Mi,arch=amd64,…` A key that still has the value of the marker is ours; any other value is a
//! user's. No value contains a comma (see `wanted`), so nothing is escaped. `kept=cpu/memory` lists the keys of users
//! that were reported as kept, so that each is reported once.

pub(super) const PREFIX: &str = "v1:";
/// The name of the list of kept keys. No key or label pair has it.
pub(super) const KEPT: &str = "kept";

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

    pub(super) fn wrote(&self, short: &str) -> Option<&'a str> {
        let Self::Wrote(pairs) = self else { return None };
        let mut pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(name, value)| (name == short).then_some(value))
    }

    pub(super) fn reported_kept(&self, short: &str) -> bool {
        self.wrote(KEPT).is_some_and(|list| list.split('/').any(|name| name == short))
    }
}

/// Whether it starts like a marker of some version.
fn is_versioned(text: &str) -> bool {
    let version = text.strip_prefix('v').and_then(|rest| rest.split_once(':'));
    version.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// The short name of a key or label: its last part, which is unique.
pub(super) fn short(name: &'static str) -> &'static str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Adds a pair to a marker that starts as [`PREFIX`].
pub(super) fn add(marker: &mut String, short: &str, value: &str) {
    if marker.len() > PREFIX.len() {
        marker.push(',');
    }
    marker.extend([short, "=", value]);
}

#[cfg(test)]
mod tests {
    use machinist_api::names;

    use super::*;

    #[test]
    fn markers_survive_a_round_trip() {
        let mut record = PREFIX.to_owned();
        add(&mut record, "cpu", "4");
        add(&mut record, "gpu-type", "nvidia.com/gpu");
        assert_eq!(record, "v1:cpu=4,gpu-type=nvidia.com/gpu");
        let marker = Marker::read(Some(&record));
        assert_eq!(marker.wrote("gpu-type"), Some("nvidia.com/gpu"));
        assert_eq!(marker.wrote("gpu"), None);
    }

    #[test]
    fn remembers_reported_keys_by_name() {
        let mut record = PREFIX.to_owned();
        add(&mut record, "memory", "8Mi");
        add(&mut record, KEPT, "cpu/gpu-count");
        assert_eq!(record, "v1:memory=8Mi,kept=cpu/gpu-count");
        let marker = Marker::read(Some(&record));
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

    #[test]
    fn short_names_are_unique() {
        use std::collections::BTreeSet;

        let mut shorts: Vec<_> =
            super::super::current::NAMES.iter().map(|name| short(name)).collect();
        let labels =
            [names::LABEL_ARCH, names::LABEL_ZONE, names::LABEL_REGION, names::LABEL_INSTANCE_TYPE];
        shorts.extend(labels.map(short));
        shorts.push(KEPT);
        assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
    }
}

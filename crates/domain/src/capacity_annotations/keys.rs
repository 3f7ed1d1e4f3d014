//! The keys and label pairs, and their short names in the marker.

use machinist_api::names;

/// An annotation that holds one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    OpenShiftCpu,
    OpenShiftMemory,
    OpenShiftGpu,
    Cpu,
    Memory,
    GpuCount,
    GpuType,
    EphemeralDisk,
    MaxPods,
}

impl Key {
    pub(super) const ALL: [Self; 9] = [
        Self::OpenShiftCpu,
        Self::OpenShiftMemory,
        Self::OpenShiftGpu,
        Self::Cpu,
        Self::Memory,
        Self::GpuCount,
        Self::GpuType,
        Self::EphemeralDisk,
        Self::MaxPods,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenShiftCpu => names::ANNOTATION_VCPU,
            Self::OpenShiftMemory => names::ANNOTATION_MEMORY,
            Self::OpenShiftGpu => names::ANNOTATION_GPU,
            Self::Cpu => names::ANNOTATION_CAPACITY_CPU,
            Self::Memory => names::ANNOTATION_CAPACITY_MEMORY,
            Self::GpuCount => names::ANNOTATION_CAPACITY_GPU_COUNT,
            Self::GpuType => names::ANNOTATION_CAPACITY_GPU_TYPE,
            Self::EphemeralDisk => names::ANNOTATION_CAPACITY_EPHEMERAL_DISK,
            Self::MaxPods => names::ANNOTATION_CAPACITY_MAX_PODS,
        }
    }

    pub(super) fn short(self) -> &'static str {
        short(self.name())
    }

    /// Whether OpenShift's contract reserves it for an annotator.
    pub(super) fn is_always_ours(self) -> bool {
        matches!(self, Self::OpenShiftCpu | Self::OpenShiftMemory | Self::OpenShiftGpu)
    }
}

/// A pair in the labels annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Architecture,
    Zone,
    Region,
    InstanceType,
}

impl Label {
    pub(super) const ALL: [Self; 4] =
        [Self::Architecture, Self::Zone, Self::Region, Self::InstanceType];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Architecture => names::LABEL_ARCH,
            Self::Zone => names::LABEL_ZONE,
            Self::Region => names::LABEL_REGION,
            Self::InstanceType => names::LABEL_INSTANCE_TYPE,
        }
    }

    pub(super) fn short(self) -> &'static str {
        short(self.name())
    }

    /// The architecture is a fact; users may override all others.
    pub(super) fn is_always_ours(self) -> bool {
        self == Self::Architecture
    }
}

/// The short name in the marker: the last part, which is unique.
pub(super) fn short(name: &'static str) -> &'static str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::marker::KEPT;
    use super::*;

    #[test]
    fn short_names_are_unique() {
        let keys = Key::ALL.map(Key::short);
        let labels = Label::ALL.map(Label::short);
        let unique: BTreeSet<_> = keys.iter().chain(&labels).chain([&KEPT]).collect();
        assert_eq!(unique.len(), Key::ALL.len() + Label::ALL.len() + 1);
    }
}

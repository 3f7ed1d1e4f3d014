//! Pods: where they run, which is cached, and what a drain reads, always live. Containers are skipped.

use serde::Deserialize;

use super::{Object, lenient};

pub type Pod = Object<PodSpec, PodStatus>;

/// A Pod, as far as it says where it runs: what a cache of all pods reads.
pub type PlacedPod = Object<PlacedPodSpec>;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacedPodSpec {
    /// Where it runs; `None` if it is not scheduled.
    pub node_name: Option<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    pub node_name: Option<String>,
    pub priority: Option<i32>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub volumes: Vec<PodVolume>,
}

/// A volume of a Pod, as far as it says what detaching it means.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodVolume {
    pub name: String,
    pub persistent_volume_claim: Option<ClaimReference>,
    /// Whether it has a claim of its own, which is called `<pod>-<volume>`.
    #[serde(deserialize_with = "lenient::present")]
    pub ephemeral: bool,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimReference {
    pub claim_name: String,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodStatus {
    pub phase: String,
}

pub type VolumeAttachment = Object<VolumeAttachmentSpec>;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    pub node_name: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub source: VolumeAttachmentSource,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSource {
    /// The volume; none where it is written inline.
    pub persistent_volume_name: Option<String>,
}

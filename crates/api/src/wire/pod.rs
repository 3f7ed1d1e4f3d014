//! Pods: where they run, which is cached, and what draining a node reads, always live, with disruption budgets and
//! attached volumes. Containers are skipped.

use serde::Deserialize;

use super::{LabelSelector, Metadata, lenient};

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Pod {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PodSpec,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: PodStatus,
}

/// A Pod, as far as it says where it runs: what a cache of all pods reads.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PlacedPod {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PlacedPodSpec,
}

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

/// A PodDisruptionBudget, as far as it says why an eviction was refused.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PodDisruptionBudgetSpec,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: PodDisruptionBudgetStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudgetSpec {
    /// Which pods it protects. Without one it protects none; with an empty one all of the namespace.
    pub selector: Option<LabelSelector>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    pub disruptions_allowed: i32,
    pub current_healthy: i32,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: VolumeAttachmentSpec,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: VolumeAttachmentStatus,
}

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

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeAttachmentStatus {
    pub attached: bool,
}

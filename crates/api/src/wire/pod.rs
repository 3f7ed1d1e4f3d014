//! Pods: where they run, which is cached, and what draining a node reads, always live, with disruption budgets and
//! attached volumes. Containers are skipped.

use serde::Deserialize;

use super::{LabelSelector, Metadata, lenient};

/// A Pod.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// The metadata; it says who owns the pod, and whether it is a mirror of a static one.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PodSpec,
    /// The observed state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: PodStatus,
}

/// A Pod, as far as it says where it runs: what a cache of all pods reads.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PlacedPod {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PlacedPodSpec,
}

/// `spec` of a Pod, as far as it says where the pod runs.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacedPodSpec {
    /// Where it runs; `None` if it is not scheduled.
    pub node_name: Option<String>,
}

/// `spec` of a Pod.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Where it runs.
    pub node_name: Option<String>,
    /// How important it is.
    pub priority: Option<i32>,
    /// The class that its priority comes from.
    pub priority_class_name: Option<String>,
    /// How long it may take to end, in seconds.
    pub termination_grace_period_seconds: Option<i64>,
    /// Its volumes.
    #[serde(deserialize_with = "lenient::or_default")]
    pub volumes: Vec<PodVolume>,
}

/// A volume of a Pod, as far as it says what detaching it means.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodVolume {
    /// Its name within the pod.
    pub name: String,
    /// The claim, if there is one.
    pub persistent_volume_claim: Option<ClaimReference>,
    /// Whether it has a claim of its own, which is called `<pod>-<volume>`.
    #[serde(deserialize_with = "lenient::present")]
    pub ephemeral: bool,
    /// Whether it is scratch space that goes with the pod.
    #[serde(deserialize_with = "lenient::present")]
    pub empty_dir: bool,
}

/// A claim in the pod's namespace.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimReference {
    /// Its name.
    pub claim_name: String,
}

/// `status` of a Pod.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
}

/// A PodDisruptionBudget, as far as it says why an eviction was refused.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: PodDisruptionBudgetSpec,
    /// The observed state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: PodDisruptionBudgetStatus,
}

/// `spec` of a PodDisruptionBudget.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudgetSpec {
    /// Which pods it protects. Without one it protects none; with an empty one all of the namespace.
    pub selector: Option<LabelSelector>,
}

/// `status` of a PodDisruptionBudget.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    /// How many evictions it allows now.
    pub disruptions_allowed: i32,
    /// How many of its pods are healthy.
    pub current_healthy: i32,
    /// How many must be.
    pub desired_healthy: i32,
    /// How many there should be.
    pub expected_pods: i32,
}

/// A VolumeAttachment: a volume that is, or shall be, attached to a node.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    /// The metadata.
    pub metadata: Metadata,
    /// What shall be attached where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: VolumeAttachmentSpec,
    /// Whether it is.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: VolumeAttachmentStatus,
}

/// `spec` of a VolumeAttachment.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    /// Who attaches it.
    pub attacher: String,
    /// To which node.
    pub node_name: String,
    /// What.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source: VolumeAttachmentSource,
}

/// `spec.source` of a VolumeAttachment.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSource {
    /// The volume; none where it is written inline.
    pub persistent_volume_name: Option<String>,
}

/// `status` of a VolumeAttachment.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeAttachmentStatus {
    /// Whether it is attached.
    pub attached: bool,
}

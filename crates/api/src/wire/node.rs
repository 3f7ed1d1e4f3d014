//! Nodes, and what Machines and Nodes have in common. Images, capacity and heartbeats are skipped.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Condition, Metadata, lenient};

/// A Node.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Node {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: NodeSpec,
    /// The observed state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: NodeStatus,
}

/// `spec` of a Node.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// The instance, as set by the registering component.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Whether it is cordoned.
    #[serde(deserialize_with = "lenient::or_default")]
    pub unschedulable: bool,
    /// Taints.
    #[serde(deserialize_with = "lenient::or_default")]
    pub taints: Vec<Taint>,
}

/// A taint.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// Its name.
    pub key: String,
    /// Its value; often none.
    pub value: Option<String>,
    /// NoSchedule, PreferNoSchedule or NoExecute.
    pub effect: String,
    /// When it was put there; only some are timed.
    #[serde(deserialize_with = "lenient::time")]
    pub time_added: Option<Timestamp>,
}

/// `status` of a Node.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Conditions of all writers.
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
    /// Addresses of the Node.
    #[serde(deserialize_with = "lenient::or_default")]
    pub addresses: Vec<Address>,
    /// Volumes that the attach/detach controller has attached.
    #[serde(deserialize_with = "lenient::or_default")]
    pub volumes_attached: Vec<AttachedVolume>,
    /// Volumes that the kubelet still mounts.
    #[serde(deserialize_with = "lenient::or_default")]
    pub volumes_in_use: Vec<String>,
}

/// An address of a Machine or a Node.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Address {
    /// InternalIP, ExternalIP, InternalDNS, ExternalDNS or Hostname.
    #[serde(rename = "type")]
    pub kind: String,
    /// The address.
    pub address: String,
}

/// A volume that is attached to a Node.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AttachedVolume {
    /// Its unique name, as in `volumesInUse`.
    pub name: String,
}

//! Machines. Provider spec and provider status stay raw: they belong to providers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Address, Condition, Metadata, Taint, lenient};

/// A Machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: MachineSpec,
    /// The observed state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: MachineStatus,
}

/// `spec` of a Machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// Which of OpenShift's two machine APIs should manage the object.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// The id of the instance, as in the Node.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Metadata of the Node.
    #[serde(deserialize_with = "lenient::or_default")]
    pub metadata: NodeMetadata,
    /// Taints that the Node gets.
    #[serde(deserialize_with = "lenient::or_default")]
    pub taints: Vec<Taint>,
    /// Lifecycle hooks.
    #[serde(deserialize_with = "lenient::or_default")]
    pub lifecycle_hooks: LifecycleHooks,
    /// The provider spec.
    #[serde(deserialize_with = "lenient::or_default")]
    pub provider_spec: ProviderSpec,
}

/// `spec.metadata` of a Machine: what its Node gets.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeMetadata {
    /// Labels that the Node gets.
    #[serde(deserialize_with = "lenient::or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that the Node gets.
    #[serde(deserialize_with = "lenient::or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// `spec.lifecycleHooks` of a Machine.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LifecycleHooks {
    /// These block the drain.
    #[serde(deserialize_with = "lenient::or_default")]
    pub pre_drain: Vec<LifecycleHook>,
    /// These block the termination.
    #[serde(deserialize_with = "lenient::or_default")]
    pub pre_terminate: Vec<LifecycleHook>,
}

/// A lifecycle hook.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LifecycleHook {
    /// The name.
    pub name: String,
    /// The owner.
    pub owner: String,
}

/// `providerSpec` of a Machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ProviderSpec {
    /// Belongs to a provider and stays raw until that provider reads it.
    pub value: Option<Box<RawValue>>,
}

/// `status` of a Machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    /// The phase.
    pub phase: Option<String>,
    /// The Node, if there is one.
    pub node_ref: Option<NodeReference>,
    /// Addresses of the instance.
    #[serde(deserialize_with = "lenient::or_default")]
    pub addresses: Vec<Address>,
    /// Conditions of all writers.
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
    /// Reason of a permanent failure.
    pub error_reason: Option<String>,
    /// Message of a permanent failure.
    pub error_message: Option<String>,
    /// A copy of `error_reason` for cluster-autoscaler.
    pub failure_reason: Option<String>,
    /// A copy of `error_message` for cluster-autoscaler.
    pub failure_message: Option<String>,
    /// When the status last changed.
    #[serde(deserialize_with = "lenient::time")]
    pub last_updated: Option<Timestamp>,
    /// The last operation; no longer written.
    pub last_operation: Option<Box<RawValue>>,
    /// Belongs to a provider and stays raw until that provider reads it.
    pub provider_status: Option<Box<RawValue>>,
    /// Which of OpenShift's two machine APIs manages the object.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// The generation that was synchronized to the other API.
    pub synchronized_generation: Option<i64>,
}

/// `status.nodeRef` of a Machine.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeReference {
    /// Kind, which is Node.
    pub kind: String,
    /// Name of the Node.
    pub name: String,
    /// Uid of the Node.
    pub uid: String,
}

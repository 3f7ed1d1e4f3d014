//! Machines. Provider spec and provider status stay raw: they belong to providers.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_with::apply;

use super::{Address, Condition, Object, Taint, TemplateMetadata, lenient};

pub type Machine = Object<MachineSpec, MachineStatus>;

#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    pub metadata: TemplateMetadata,
    pub taints: Vec<Taint>,
    pub lifecycle_hooks: LifecycleHooks,
    pub provider_spec: ProviderSpec,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LifecycleHooks {
    #[serde(deserialize_with = "lenient::or_default")]
    pub pre_drain: Vec<LifecycleHook>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub pre_terminate: Vec<LifecycleHook>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LifecycleHook {
    pub name: String,
    pub owner: String,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ProviderSpec {
    pub value: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    pub phase: Option<String>,
    pub node_ref: Option<NodeReference>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub addresses: Vec<Address>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
    pub error_reason: Option<String>,
    pub error_message: Option<String>,
    /// Copy of `error_reason` for cluster-autoscaler; `failure_message` likewise.
    pub failure_reason: Option<String>,
    pub failure_message: Option<String>,
    #[serde(deserialize_with = "lenient::time")]
    pub last_updated: Option<Timestamp>,
    pub provider_status: Option<Box<RawValue>>,
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeReference {
    pub name: String,
    pub uid: String,
}

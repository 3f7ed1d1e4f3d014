//! Nodes, and what Machines and Nodes have in common. Images, capacity and heartbeats are skipped.

use jiff::Timestamp;
use serde::Deserialize;
use serde_with::apply;

use super::{Condition, Object, lenient};

pub type Node = Object<NodeSpec, NodeStatus>;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// The instance, as set by the registering component.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub unschedulable: bool,
    #[serde(deserialize_with = "lenient::or_default")]
    pub taints: Vec<Taint>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    pub key: String,
    pub value: Option<String>,
    pub effect: String,
    #[serde(deserialize_with = "lenient::time")]
    pub time_added: Option<Timestamp>,
}

#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    pub conditions: Vec<Condition>,
    pub addresses: Vec<Address>,
    /// Volumes that the attach/detach controller has attached.
    pub volumes_attached: Vec<AttachedVolume>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Address {
    #[serde(rename = "type")]
    pub kind: String,
    pub address: String,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AttachedVolume {
    pub name: String,
}

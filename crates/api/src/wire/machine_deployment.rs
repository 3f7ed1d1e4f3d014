//! MachineDeployments. The template's spec stays raw, as in a MachineSet.

use serde::Deserialize;
use serde_with::apply;

use super::{Condition, LabelSelector, MachineTemplate, Object, lenient};

pub type MachineDeployment = Object<MachineDeploymentSpec, MachineDeploymentStatus>;

#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeploymentSpec {
    /// The CRD has a default, so `None` is rare and not zero.
    pub replicas: Option<i32>,
    pub min_ready_seconds: i32,
    pub paused: bool,
    pub revision_history_limit: Option<i32>,
    pub progress_deadline_seconds: Option<i32>,
    pub remediation: Remediation,
    pub auto_preserve_failed_machine_max: Option<i32>,
    pub selector: LabelSelector,
    pub strategy: DeploymentStrategy,
    pub template: MachineTemplate,
}

#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStrategy {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `None` is true.
    pub mark_nodes: Option<bool>,
    pub rolling_update: RollingUpdate,
    pub in_place_update: InPlaceUpdate,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    pub max_surge: Option<IntOrText>,
    pub max_unavailable: Option<IntOrText>,
    pub canary: Option<Canary>,
    pub abort: Option<Abort>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Canary {
    pub replicas: Option<IntOrText>,
    pub soak_seconds: Option<i64>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Abort {
    pub failed_machines: Option<i64>,
    pub ready_timeout_seconds: Option<i64>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Remediation {
    pub max_in_flight: Option<IntOrText>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlaceUpdate {
    pub max_surge: Option<IntOrText>,
    pub max_unavailable: Option<IntOrText>,
    pub orchestration_type: Option<String>,
}

/// A number, or a text such as `25%`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IntOrText {
    Int(i64),
    Text(String),
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeploymentStatus {
    pub replicas: Option<i32>,
    pub updated_replicas: Option<i32>,
    pub ready_replicas: Option<i32>,
    pub available_replicas: Option<i32>,
    pub unavailable_replicas: Option<i32>,
    pub preserved_replicas: Option<i32>,
    pub collision_count: Option<i32>,
    pub observed_generation: Option<i64>,
    pub label_selector: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
}

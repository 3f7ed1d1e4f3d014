//! MachineHealthChecks. Durations stay text, so that a controller can report one that is invalid.

use serde::Deserialize;
use serde_json::Value;
use serde_with::apply;

use super::{Condition, IntOrText, LabelSelector, Object, lenient};

pub type MachineHealthCheck = Object<MachineHealthCheckSpec, MachineHealthCheckStatus>;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineHealthCheckSpec {
    pub max_unhealthy: Option<IntOrText>,
    pub node_startup_timeout: Option<String>,
    pub remediation_template: Option<RemediationTemplate>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub selector: LabelSelector,
    #[serde(deserialize_with = "lenient::or_default")]
    pub unhealthy_conditions: Vec<UnhealthyCondition>,
}

/// A condition of a Node that makes its Machine unhealthy.
#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UnhealthyCondition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub timeout: String,
}

/// What another controller remediates by.
#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RemediationTemplate {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
}

/// An object of any kind whose `spec.template` others are created from.
pub type TemplateObject = Object<TemplateObjectSpec>;

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct TemplateObjectSpec {
    pub template: Option<Value>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineHealthCheckStatus {
    pub expected_machines: Option<i64>,
    pub current_healthy: Option<i64>,
    pub remediations_allowed: Option<i64>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
}

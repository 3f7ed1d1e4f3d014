//! MachineHealthCheck of `machine.openshift.io/v1beta1`: the full type, from which our CustomResourceDefinition is
//! generated. Every field that OpenShift's definition has is here under the same rules.
//!
//! Reading goes through [`crate::wire`].

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::{Condition, LabelSelector, ObjectReference};
use crate::schema;

/// Desired state of a MachineHealthCheck.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "MachineHealthCheck",
    doc = "A MachineHealthCheck: which Machines are replaced when their Nodes are unhealthy, and how many at most.",
    namespaced,
    derive = "PartialEq",
    status = "MachineHealthCheckStatus",
    shortname = "mhc",
    shortname = "mhcs",
    printcolumn = r#"{"name":"MaxUnhealthy","type":"string","jsonPath":".spec.maxUnhealthy",
        "description":"Maximum number of unhealthy machines allowed"}"#,
    printcolumn = r#"{"name":"ExpectedMachines","type":"integer","jsonPath":".status.expectedMachines",
        "description":"Number of machines currently monitored"}"#,
    printcolumn = r#"{"name":"CurrentHealthy","type":"integer","jsonPath":".status.currentHealthy",
        "description":"Current observed healthy machines"}"#,
    printcolumn = r#"{"name":"RemediationsAllowed","type":"integer","jsonPath":".status.remediationsAllowed",
        "description":"How many more machines may become unhealthy before none is remediated"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Time since the health check was created"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckSpec {
    /// How many of the selected Machines may be unhealthy: a number, or a percentage, rounded down. With more, none is
    /// remediated. Machines whose Node does not exist yet, and those whose timeout is not over yet, count. 100% by
    /// default; 0 never remediates.
    #[serde(default)]
    #[schemars(schema_with = "schema::max_unhealthy", extend("default" = "100%"))]
    pub max_unhealthy: Option<serde_json::Value>,
    /// A Machine without a Node for longer than this is unhealthy, counted from the creation of its instance or, if
    /// that is not known, its own. 10m by default; 0 disables it.
    #[schemars(
        extend("default" = "10m"),
        regex(pattern = r"^0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$")
    )]
    pub node_startup_timeout: Option<String>,
    /// The template of the object that another controller remediates by.
    pub remediation_template: Option<ObjectReference>,
    /// Selects Machines by their labels. An empty selector selects all Machines of the namespace.
    pub selector: Option<LabelSelector>,
    /// A Machine is unhealthy if one of these conditions of its Node lasts for its timeout.
    #[schemars(length(min = 1))]
    pub unhealthy_conditions: Option<Vec<UnhealthyCondition>>,
}

/// A condition of a Node.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnhealthyCondition {
    /// The status of the condition.
    #[schemars(length(min = 1))]
    pub status: Option<String>,
    /// How long it must last.
    #[schemars(regex(pattern = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"))]
    pub timeout: Option<String>,
    /// The type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(min = 1))]
    pub kind: Option<String>,
}

/// Observed state of a MachineHealthCheck.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineHealthCheckStatus {
    /// Conditions.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// The number of healthy Machines.
    #[schemars(schema_with = "schema::count")]
    #[serde(default)]
    pub current_healthy: Option<i64>,
    /// The number of selected Machines.
    #[schemars(schema_with = "schema::count")]
    #[serde(default)]
    pub expected_machines: Option<i64>,
    /// How many more Machines may become unhealthy before none is remediated.
    #[schemars(range(min = 0))]
    pub remediations_allowed: Option<i32>,
}

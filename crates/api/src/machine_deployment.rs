//! MachineDeployment of `machine.openshift.io/v1beta1`, from which its CustomResourceDefinition is generated. OpenShift
//! has no such kind; its group is that of MachineSets, so that cluster-autoscaler can scale it.
//!
//! Reading goes through [`crate::wire`].

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::machine_set::MachineTemplate;
use crate::parts::{Condition, LabelSelector};
use crate::schema;

/// Desired state of a MachineDeployment.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "MachineDeployment",
    doc = "A MachineDeployment: machines that are replaced step by step when their template changes.",
    namespaced,
    derive = "PartialEq",
    status = "MachineDeploymentStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    shortname = "md",
    shortname = "machinedeploy",
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".spec.replicas",
        "description":"How many machines are wanted"}"#,
    printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyReplicas",
        "description":"How many machines have a Node that is ready"}"#,
    printcolumn = r#"{"name":"Up-to-date","type":"integer","jsonPath":".status.updatedReplicas",
        "description":"How many machines are of the current template"}"#,
    printcolumn = r#"{"name":"Available","type":"integer","jsonPath":".status.availableReplicas",
        "description":"How many machines have been ready for long enough"}"#,
    printcolumn = r#"{"name":"Reason","type":"string",
        "jsonPath":".status.conditions[?(@.type==\"Progressing\")].reason",
        "description":"State of the rollout; kubectl describe shows the message"}"#,
    printcolumn = r#"{"name":"Type","type":"string",
        "jsonPath":".spec.template.spec.providerSpec.value.instanceType",
        "description":"Type of the instances in the provider spec"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Time since the deployment was created"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentSpec {
    /// For how many seconds a Machine must be ready to be available. 0 by default.
    #[schemars(range(min = 0))]
    pub min_ready_seconds: Option<i32>,
    /// Whether changes of the template are held back. Scaling goes on.
    pub paused: Option<bool>,
    /// How many failed Machines are kept for debugging at the same time, in all MachineSets together: the newest ones
    /// get the annotation machinist.dev/preserve. 0 by default.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub auto_preserve_failed_machine_max: Option<i32>,
    /// After how many seconds without progress a rollout is reported as failed; it goes on. Never by default.
    #[schemars(range(min = 1))]
    pub progress_deadline_seconds: Option<i32>,
    /// Limits how many Machines are replaced for bad health at a time. Read by the controller of health checks.
    pub remediation: Option<Remediation>,
    /// The desired number of Machines. 1 by default.
    #[schemars(range(min = 0), extend("default" = 1))]
    pub replicas: Option<i32>,
    /// How many old MachineSets are kept for a rollback. 10 by default.
    #[schemars(range(min = 0))]
    pub revision_history_limit: Option<i32>,
    /// Selects the MachineSets of the deployment. It must match the labels of the template.
    pub selector: Option<LabelSelector>,
    /// How Machines are replaced when the template changes.
    pub strategy: Option<DeploymentStrategy>,
    /// The template of the Machines.
    pub template: Option<MachineTemplate>,
}

/// Limits of replacements for bad health.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// How many Machines are replaced for bad health at a time: a number from 0, or a percentage of spec.replicas,
    /// rounded up. 1 by default.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent", extend("default" = 1))]
    pub max_in_flight: Option<serde_json::Value>,
}

/// How Machines are replaced.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStrategy {
    /// Whether a rolling update marks Nodes until it is complete: cluster-autoscaler keeps those of all Machines, and
    /// new pods prefer other Nodes than those of old Machines. True by default.
    pub mark_nodes: Option<bool>,
    /// Limits of an update in place.
    pub in_place_update: Option<InPlaceUpdate>,
    /// Limits of a rolling update.
    pub rolling_update: Option<RollingUpdate>,
    /// RollingUpdate by default.
    #[serde(rename = "type")]
    pub kind: Option<StrategyType>,
}

/// How Machines are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// New Machines replace old ones step by step.
    RollingUpdate,
    /// All old Machines are deleted before new ones are created.
    Recreate,
    /// Machines are drained, updated by an agent on their Nodes, and kept.
    InPlaceUpdate,
}

/// Limits of an update in place.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlaceUpdate {
    /// How many Machines more than spec.replicas may exist during the update: a number, or a percentage, rounded up.
    /// 0 by default, so that no Machine is created or deleted.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent")]
    pub max_surge: Option<serde_json::Value>,
    /// How many of spec.replicas may be unavailable: a number, or a percentage, rounded down. 1 by default.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent")]
    pub max_unavailable: Option<serde_json::Value>,
    /// Who selects the Machines that are updated next. Auto by default.
    pub orchestration_type: Option<OrchestrationType>,
}

/// Who selects the Machines that are updated next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OrchestrationType {
    /// The controller.
    Auto,
    /// A user, by the label machinist.dev/in-place-update=selected.
    Manual,
}

/// Limits of a rolling update.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Stops a rollout whose new Machines do not work. Never by default.
    pub abort: Option<Abort>,
    /// Observes some new Machines before the others follow. None by default.
    pub canary: Option<Canary>,
    /// How many Machines more than spec.replicas may exist: a number, or a percentage, rounded up. 1 by default.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent")]
    pub max_surge: Option<serde_json::Value>,
    /// How many of spec.replicas may be unavailable: a number, or a percentage, rounded down. 0 by default.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent")]
    pub max_unavailable: Option<serde_json::Value>,
}

/// New Machines that are observed before the others follow.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// How many new Machines come first: a number from 1, or a percentage of spec.replicas, rounded up. 1 by default.
    #[serde(default)]
    #[schemars(schema_with = "schema::int_or_percent")]
    pub replicas: Option<serde_json::Value>,
    /// For how many seconds they must be available before the rollout goes on. 0 by default.
    #[schemars(range(min = 0))]
    pub soak_seconds: Option<i32>,
}

/// When a rollout is stopped until the template changes or it is resumed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Abort {
    /// How many new Machines must have failed, or not have been ready in time. 1 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub failed_machines: Option<i32>,
    /// For how many seconds a new Machine may be without a ready Node. 1200 by default.
    #[schemars(range(min = 1))]
    pub ready_timeout_seconds: Option<i32>,
}

/// Observed state of a MachineDeployment.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentStatus {
    /// The number of available Machines.
    pub available_replicas: Option<i32>,
    /// How often the name of a new MachineSet was taken by another one.
    pub collision_count: Option<i32>,
    /// Conditions.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// The selector as text, for the scale subresource.
    pub label_selector: Option<String>,
    /// The generation of the spec that was last applied without a failure.
    pub observed_generation: Option<i64>,
    /// The number of Machines that are kept for debugging. The other counters do not include those of earlier
    /// templates, nor any during a rollout.
    pub preserved_replicas: Option<i32>,
    /// The number of Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// The number of Machines.
    pub replicas: Option<i32>,
    /// The number of Machines that are missing or not available.
    pub unavailable_replicas: Option<i32>,
    /// The number of Machines of the current template.
    pub updated_replicas: Option<i32>,
}

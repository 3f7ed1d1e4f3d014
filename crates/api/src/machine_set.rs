//! MachineSet of `machine.openshift.io/v1beta1`: the full type, from which our CustomResourceDefinition is generated.
//!
//! Every field that OpenShift's definition has is here under the same rules. Reading goes through [`crate::wire`].

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::machine::MachineSpec;
use crate::parts::{AuthoritativeApi, Condition, DesiredApi, LabelSelector, ObjectMetadata};
use crate::schema;

/// Desired state of a MachineSet.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "MachineSet",
    doc = "A MachineSet: a number of machines that are alike.",
    namespaced,
    derive = "PartialEq",
    status = "MachineSetStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    shortname = "ms",
    printcolumn = r#"{"name":"Desired","type":"integer","jsonPath":".spec.replicas",
        "description":"How many machines are wanted"}"#,
    printcolumn = r#"{"name":"Current","type":"integer","jsonPath":".status.replicas",
        "description":"How many machines there are"}"#,
    printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyReplicas",
        "description":"How many of them have a Node that is ready"}"#,
    printcolumn = r#"{"name":"Available","type":"string","jsonPath":".status.availableReplicas",
        "description":"How many of them have been ready for long enough"}"#,
    printcolumn = r#"{"name":"Reason","type":"string",
        "jsonPath":".status.conditions[?(@.type==\"MachinesReady\")].reason",
        "description":"Why machines are not ready; kubectl describe shows the message"}"#,
    printcolumn = r#"{"name":"Type","type":"string",
        "jsonPath":".spec.template.spec.providerSpec.value.instanceType",
        "description":"Type of the instances in the provider spec"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Time since the set was created"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetSpec {
    /// Which of OpenShift's two machine APIs manages the object. Machine API by default.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<DesiredApi>,
    /// Which Machines are deleted first on scale down. Random by default.
    pub delete_policy: Option<DeletePolicy>,
    /// For how many seconds a Machine must be ready to be available. 0 by default.
    pub min_ready_seconds: Option<i32>,
    /// The desired number of Machines. 1 by default.
    #[schemars(extend("default" = 1))]
    pub replicas: Option<i32>,
    /// Selects the Machines of the set. It must match the labels of the template.
    pub selector: Option<LabelSelector>,
    /// The template of the Machines.
    pub template: Option<MachineTemplate>,
}

/// Which Machines are deleted first on scale down. Those marked for deletion precede all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletePolicy {
    /// Any.
    Random,
    /// The newest.
    Newest,
    /// The oldest.
    Oldest,
}

/// The template of Machines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineTemplate {
    /// Labels and annotations that the machines get. Names and owners are ignored.
    pub metadata: Option<ObjectMetadata>,
    /// Desired state of the machines.
    pub spec: Option<MachineSpec>,
}

/// Observed state of a MachineSet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = schema::migration_rules()))]
pub struct MachineSetStatus {
    /// Which of OpenShift's two machine APIs manages the object.
    #[serde(rename = "authoritativeAPI")]
    #[schemars(extend("x-kubernetes-validations" = schema::authority_rules()))]
    pub authoritative_api: Option<AuthoritativeApi>,
    /// The number of available Machines.
    pub available_replicas: Option<i32>,
    /// Conditions.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// Message of a permanent error.
    pub error_message: Option<String>,
    /// Reason of a permanent error.
    pub error_reason: Option<String>,
    /// The number of Machines with all labels of the template.
    pub fully_labeled_replicas: Option<i32>,
    /// The selector as text, for the scale subresource.
    #[schemars(length(min = 1, max = 4096))]
    pub label_selector: Option<String>,
    /// The generation of the observed spec.
    pub observed_generation: Option<i64>,
    /// The number of Machines with a ready Node.
    pub ready_replicas: Option<i32>,
    /// The number of Machines.
    pub replicas: Option<i32>,
    /// The managing API at the last synchronization.
    #[serde(rename = "synchronizedAPI")]
    pub synchronized_api: Option<DesiredApi>,
    /// The generation that was synchronized to the other API.
    #[schemars(range(min = 0))]
    pub synchronized_generation: Option<i64>,
}

impl MachineSetSpec {
    /// The provider spec of the template.
    pub fn provider_spec(&self) -> Option<&serde_json::Value> {
        self.template.as_ref()?.spec.as_ref()?.provider_spec.as_ref()?.value.as_ref()
    }
}

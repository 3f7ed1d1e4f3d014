//! Machine of `machine.openshift.io/v1beta1`: the full type, from which our CustomResourceDefinition is generated.
//!
//! Every field that OpenShift's definition has is here under the same rules, and two more: `failureReason` and
//! `failureMessage` in the status, because cluster-autoscaler looks for them. Reading goes through [`crate::wire`].

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::parts::{
    Address, AuthoritativeApi, Condition, DesiredApi, ObjectMetadata, ObjectReference, Taint,
};
use crate::schema;

/// Desired state of a Machine.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "machine.openshift.io",
    version = "v1beta1",
    kind = "Machine",
    doc = "A Machine: an instance in a cloud that becomes a Node.",
    namespaced,
    derive = "PartialEq",
    status = "MachineStatus",
    shortname = "ma",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase",
        "description":"Phase of the Machine"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status",
        "description":"Whether instance and Node are healthy"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason",
        "description":"Why it is not ready; kubectl describe shows the message"}"#,
    printcolumn = r#"{"name":"Node","type":"string","jsonPath":".status.nodeRef.name",
        "description":"Node of the instance"}"#,
    printcolumn = r#"{"name":"Type","type":"string","jsonPath":".spec.providerSpec.value.instanceType",
        "description":"Type of the instance in the provider spec"}"#,
    printcolumn = r#"{"name":"Zone","type":"string","jsonPath":".metadata.labels['machine\\.openshift\\.io/zone']",
        "description":"Zone of the instance"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp",
        "description":"Age of the Machine"}"#,
    printcolumn = r#"{"name":"Region","type":"string","jsonPath":".metadata.labels['machine\\.openshift\\.io/region']",
        "priority":1,"description":"Region of the instance"}"#,
    printcolumn = r#"{"name":"ProviderID","type":"string","jsonPath":".spec.providerID","priority":1,
        "description":"Provider ID of the instance"}"#,
    printcolumn = r#"{"name":"State","type":"string",
        "jsonPath":".metadata.annotations['machine\\.openshift\\.io/instance-state']",
        "priority":1,"description":"State of the instance in its cloud"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Which of OpenShift's two machine APIs manages the object. Machine API by default.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<DesiredApi>,
    /// Lifecycle hooks, which block the drain or the termination.
    pub lifecycle_hooks: Option<LifecycleHooks>,
    /// Labels and annotations that the Node gets. Names and owners are ignored.
    pub metadata: Option<ObjectMetadata>,
    /// The id of the instance, as in the Node's `spec.providerID`. Set when the instance is known.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// The provider spec.
    pub provider_spec: Option<ProviderSpec>,
    /// Taints that are added to the Node.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub taints: Option<Vec<Taint>>,
}

/// Lifecycle hooks.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleHooks {
    /// These block the drain and the termination.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub pre_drain: Option<Vec<LifecycleHook>>,
    /// These block the termination.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub pre_terminate: Option<Vec<LifecycleHook>>,
}

/// Blocks a step of the deletion until its owner removes the hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifecycleHook {
    /// What the hook is for, such as `MigrateImportantApp` or `example.com/Backup`.
    #[schemars(
        length(min = 3, max = 256),
        regex(
            pattern = concat!(
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            )
        )
    )]
    pub name: String,
    /// The owner of the hook: a controller or a person.
    #[schemars(length(min = 3, max = 512))]
    pub owner: String,
}

/// The provider spec.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderSpec {
    /// The provider's own object, which the provider validates.
    #[serde(default)]
    #[schemars(schema_with = "schema::any_object")]
    pub value: Option<serde_json::Value>,
}

/// Observed state of a Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = schema::migration_rules()))]
pub struct MachineStatus {
    /// Addresses of the instance.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Option<Vec<Address>>,
    /// Which of OpenShift's two machine APIs manages the object.
    #[serde(rename = "authoritativeAPI")]
    #[schemars(extend("x-kubernetes-validations" = schema::authority_rules()))]
    pub authoritative_api: Option<AuthoritativeApi>,
    /// Conditions.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// Message of a permanent failure. Transient errors are in conditions and Events.
    pub error_message: Option<String>,
    /// Reason of a permanent failure.
    pub error_reason: Option<String>,
    /// A copy of errorMessage for cluster-autoscaler. Not in OpenShift's CRD.
    pub failure_message: Option<String>,
    /// A copy of errorReason for cluster-autoscaler. Not in OpenShift's CRD.
    pub failure_reason: Option<String>,
    /// The last operation. machinist does not write it.
    pub last_operation: Option<LastOperation>,
    /// When the status last changed.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub last_updated: Option<String>,
    /// The Node of the instance.
    pub node_ref: Option<ObjectReference>,
    /// The phase: Provisioning, Provisioned, Running, Deleting or Failed.
    pub phase: Option<String>,
    /// The provider's own object.
    #[serde(default)]
    #[schemars(schema_with = "schema::any_object")]
    pub provider_status: Option<serde_json::Value>,
    /// The managing API at the last synchronization.
    #[serde(rename = "synchronizedAPI")]
    pub synchronized_api: Option<DesiredApi>,
    /// The generation that was synchronized to the other API.
    #[schemars(range(min = 0))]
    pub synchronized_generation: Option<i64>,
}

/// The last operation on a Machine.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// A description.
    pub description: Option<String>,
    /// When this was written.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub last_updated: Option<String>,
    /// The state, such as Processing, Failed or Successful.
    pub state: Option<String>,
    /// The type, such as Create, Update or Delete.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

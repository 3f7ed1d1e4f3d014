//! Common parts of the full types of Machines and MachineSets, with the rules of OpenShift's CRDs.
//!
//! They differ from Kubernetes' types in the list and map types of the schema, which define how writers share a list.
//! Times are text, because the API server accepts `9999-12-31T23:59:59Z` and many libraries do not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::schema;

/// One of OpenShift's two machine APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DesiredApi {
    /// Machine API.
    MachineAPI,
    /// Cluster API.
    ClusterAPI,
}

/// Which of OpenShift's two machine APIs manages an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AuthoritativeApi {
    /// Machine API.
    MachineAPI,
    /// Cluster API.
    ClusterAPI,
    /// A migration is in progress.
    Migrating,
}

/// A condition.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// When it last changed.
    #[schemars(schema_with = "schema::time")]
    pub last_transition_time: String,
    /// The message.
    pub message: Option<String>,
    /// The reason.
    pub reason: Option<String>,
    /// Error, Warning or Info; only if the status is False.
    pub severity: Option<String>,
    /// True, False or Unknown.
    pub status: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A taint.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// NoSchedule, PreferNoSchedule or NoExecute.
    pub effect: String,
    /// Its name.
    pub key: String,
    /// When it was added.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub time_added: Option<String>,
    /// Its value.
    pub value: Option<String>,
}

/// An address of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Address {
    /// The address.
    pub address: String,
    /// Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A reference to an object.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectReference {
    /// Group and version of its kind.
    pub api_version: Option<String>,
    /// A field of the object.
    pub field_path: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its resourceVersion.
    pub resource_version: Option<String>,
    /// Its uid.
    pub uid: Option<String>,
}

/// Metadata of created objects.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectMetadata {
    /// Annotations that it gets.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Ignored: names derive from the parent.
    pub generate_name: Option<String>,
    /// Labels that it gets.
    pub labels: Option<BTreeMap<String, String>>,
    /// Ignored: names derive from the parent.
    pub name: Option<String>,
    /// Ignored: it is the parent's.
    pub namespace: Option<String>,
    /// Ignored: the owner is the parent.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["uid"]))]
    pub owner_references: Option<Vec<OwnerReference>>,
}

/// An owner of an object.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct OwnerReference {
    /// Group and version of its kind.
    pub api_version: String,
    /// Whether the owner, when deleted in the foreground, waits for this object.
    pub block_owner_deletion: Option<bool>,
    /// Whether this owner is the managing controller.
    pub controller: Option<bool>,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// A label selector. All requirements must match.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Requirements.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<LabelExpression>>,
    /// Labels with exactly these values.
    pub match_labels: Option<BTreeMap<String, String>>,
}

/// A requirement.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelExpression {
    /// The label.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// The values of In and NotIn.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

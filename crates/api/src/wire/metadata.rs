//! `metadata`, as far as controllers read it. `managedFields`, often half of an object, is skipped.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::lenient;

/// The part of `metadata` that controllers read.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name, unique within namespace and kind.
    pub name: String,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Unique over all time, unlike the name.
    pub uid: String,
    /// Version of the object in the store.
    pub resource_version: String,
    /// Counts the changes of the spec.
    pub generation: i64,
    /// When the object was created, by the API server's clock.
    #[serde(deserialize_with = "lenient::time")]
    pub creation_timestamp: Option<Timestamp>,
    /// Set if the object is being deleted; text, because only its presence counts.
    pub deletion_timestamp: Option<String>,
    /// How long the deletion may take, in seconds.
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels.
    #[serde(deserialize_with = "lenient::or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "lenient::or_default")]
    pub annotations: BTreeMap<String, String>,
    /// Finalizers.
    #[serde(deserialize_with = "lenient::or_default")]
    pub finalizers: Vec<String>,
    /// Owners, of which one may be the controller.
    #[serde(deserialize_with = "lenient::or_default")]
    pub owner_references: Vec<OwnerReference>,
}

/// An owner of an object.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner's kind.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// Whether this owner is the managing controller.
    #[serde(deserialize_with = "lenient::or_default")]
    pub controller: bool,
    /// Whether the owner, when deleted in the foreground, waits for this object.
    #[serde(deserialize_with = "lenient::or_default")]
    pub block_owner_deletion: bool,
}

/// An object of which only the metadata is read, whatever its kind.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MetadataOnly {
    /// The metadata.
    pub metadata: Metadata,
}

impl Metadata {
    /// The owner that manages this object, if there is one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

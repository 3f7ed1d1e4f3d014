//! `metadata`, as far as controllers read it. `managedFields`, often half of an object, is skipped.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Object, lenient};

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub resource_version: String,
    pub generation: i64,
    #[serde(deserialize_with = "lenient::time")]
    pub creation_timestamp: Option<Timestamp>,
    /// Set if the object is being deleted; text, because only its presence counts.
    pub deletion_timestamp: Option<String>,
    /// How long the deletion may take, in seconds.
    pub deletion_grace_period_seconds: Option<i64>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub finalizers: Vec<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub owner_references: Vec<OwnerReference>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    #[serde(deserialize_with = "lenient::or_default")]
    pub controller: bool,
    /// Whether the owner, when deleted in the foreground, waits for this object.
    #[serde(deserialize_with = "lenient::or_default")]
    pub block_owner_deletion: bool,
}

/// Metadata for an object that is created: a Machine of a set, or the Node of a Machine.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    #[serde(deserialize_with = "lenient::or_default")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub annotations: BTreeMap<String, String>,
}

pub type MetadataOnly = Object<IgnoredAny>;

impl Metadata {
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

//! Decodes objects one by one: an object that cannot be decoded is not absent, and does not hide the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::wire::{MetadataOnly, OwnerReference};
use machinist_domain::meta::Meta;
use serde_json::value::RawValue;

use super::kind::Kind;
use super::store::Entry;
use crate::cluster::ApiError;

/// An object that cannot be decoded. It keeps identity, labels and owners, and no controller acts on it.
#[derive(Debug, Clone)]
pub struct Undecodable {
    /// Identity and version.
    pub meta: Meta,
    /// Labels, so that selectors still match it.
    pub labels: BTreeMap<String, String>,
    /// Owners, so that it still counts as a child.
    pub owners: Vec<OwnerReference>,
    /// Why it cannot be decoded.
    pub error: String,
}

/// Decodes an object. An error means that not even its metadata is readable.
pub(super) fn decode<K: Kind>(kind: &K, raw: &RawValue) -> Result<Entry<K::Stored>, ApiError> {
    let error = match serde_json::from_str::<K::Wire>(raw.get()) {
        Ok(wire) => return Ok(Entry::Known(Arc::new(kind.project(wire)))),
        Err(error) => error.to_string(),
    };
    let MetadataOnly { metadata, .. } = serde_json::from_str(raw.get())
        .map_err(|_| ApiError::NotUnderstood(format!("not even metadata: {error}")))?;
    Ok(Entry::Undecodable(Arc::new(Undecodable {
        meta: Meta::of(&metadata),
        labels: metadata.labels,
        owners: metadata.owner_references,
        error,
    })))
}

pub(super) fn accept<K: Kind>(list: bool) -> &'static str {
    match (K::METADATA_ONLY, list) {
        (false, _) => "application/json",
        (true, false) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        (true, true) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    }
}

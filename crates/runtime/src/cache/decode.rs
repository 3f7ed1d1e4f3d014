//! From JSON to what is stored, one object at a time: an object that cannot be decoded is not absent, and does not hide the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::wire::{MetadataOnly, OwnerReference};
use machinist_domain::meta::Meta;
use serde_json::value::RawValue;

use super::kind::Kind;
use super::store::Entry;

/// An object of which we know that it is there, who owns it and how it is labelled, but not what it says. It is never acted on.
#[derive(Debug, Clone)]
pub struct Undecodable {
    /// Identity and version.
    pub meta: Meta,
    /// Labels, so that selectors still count it.
    pub labels: BTreeMap<String, String>,
    /// Owners, so that it is still somebody's child.
    pub owners: Vec<OwnerReference>,
    /// Why it cannot be decoded.
    pub error: String,
}

/// Decodes an object. The error case is one that has no readable metadata at all, which an API server does not send.
pub(super) fn decode<K: Kind>(kind: &K, raw: &RawValue) -> Result<Entry<K::Stored>, String> {
    let error = match serde_json::from_str::<K::Wire>(raw.get()) {
        Ok(wire) => return Ok(Entry::Known(Arc::new(kind.project(wire)))),
        Err(error) => error.to_string(),
    };
    let MetadataOnly { metadata } =
        serde_json::from_str(raw.get()).map_err(|_| format!("not even metadata: {error}"))?;
    Ok(Entry::Undecodable(Arc::new(Undecodable {
        meta: Meta::of(&metadata),
        labels: metadata.labels,
        owners: metadata.owner_references,
        error,
    })))
}

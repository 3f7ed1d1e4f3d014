//! Decodes objects one by one: an object that cannot be decoded is not absent, and does not hide the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::wire::{MetadataOnly, OwnerReference};
use machinist_domain::messages::without_rust_types;
use machinist_domain::meta::Meta;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::kind::Kind;
use super::store::Entry;
use crate::cluster::ApiError;

/// An object that cannot be decoded. It keeps identity, labels and owners, and no controller acts on it.
#[derive(Debug, Clone)]
pub struct Undecodable {
    pub meta: Meta,
    /// Labels, so that selectors still match it.
    pub labels: BTreeMap<String, String>,
    /// Owners, so that it still counts as a child.
    pub owners: Vec<OwnerReference>,
    pub error: String,
}

/// Decodes an object. An error means that not even its metadata is readable.
pub(super) fn decode<K: Kind>(kind: &K, raw: &RawValue) -> Result<Entry<K::Stored>, ApiError> {
    let error = match serde_json::from_str::<K::Wire>(raw.get()) {
        Ok(wire) => return Ok(Entry::Known(Arc::new(kind.project(wire)))),
        Err(error) => {
            let text = located::<K::Wire>(raw).unwrap_or_else(|| error.to_string());
            without_rust_types(&text)
        }
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

/// The error with the path of the field. Only for errors: tracking the path is slow.
fn located<T: DeserializeOwned>(raw: &RawValue) -> Option<String> {
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    serde_path_to_error::deserialize::<_, T>(&mut reader).err().map(|error| error.to_string())
}

pub(super) fn accept<K: Kind>(list: bool) -> &'static str {
    match (K::METADATA_ONLY, list) {
        (false, _) => "application/json",
        (true, false) => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        (true, true) => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::wire::MachineSet;

    use super::*;

    #[test]
    fn an_error_names_the_field() {
        let text =
            r#"{"spec": {"template": {"spec": {"providerSpec": {"value": {}}}}, "replicas": "x"}}"#;
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let error = located::<MachineSet>(&raw).unwrap();
        assert!(error.starts_with("spec.replicas: invalid type: string"), "{error}");
    }
}

//! The metadata that the caches store: a tenth of the wire format.

use machinist_api::wire;

use crate::key::{ObjectKey, Uid, Version};

/// Identity and version of a cached object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Uid, for preconditions and Events.
    pub uid: Uid,
    /// Version, for preconditions and to find the newer of two copies.
    pub version: Version,
    /// Whether the object is being deleted.
    pub deleting: bool,
}

impl Meta {
    /// Reads the stored part of the metadata.
    pub fn of(wire: &wire::Metadata) -> Self {
        Self {
            key: ObjectKey::new(wire.namespace.as_str(), wire.name.as_str()),
            uid: Uid(wire.uid.as_str().into()),
            version: Version::parse(&wire.resource_version),
            deleting: wire.deletion_timestamp.is_some(),
        }
    }
}

//! What is stored of every object's metadata: a tenth of what the wire carries.

use machinist_api::wire;

use crate::key::{ObjectKey, Uid, Version};

/// Identity and version of an object that a cache holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Uid, for preconditions and Events.
    pub uid: Uid,
    /// Version, for preconditions and for knowing which of two copies is newer.
    pub version: Version,
    /// Whether the object is being deleted.
    pub deleting: bool,
}

impl Meta {
    /// The part that every stored object keeps.
    pub fn of(wire: &wire::Metadata) -> Self {
        Self {
            key: ObjectKey::new(wire.namespace.as_str(), wire.name.as_str()),
            uid: Uid(wire.uid.as_str().into()),
            version: Version::parse(&wire.resource_version),
            deleting: wire.deletion_timestamp.is_some(),
        }
    }
}

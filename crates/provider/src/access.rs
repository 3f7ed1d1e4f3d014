//! How a cloud is accessed.

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};

/// How to access a cloud. Objects with the same access share every answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CloudAccess {
    pub region: Arc<str>,
    pub credentials: Credentials,
    pub endpoint: Option<Arc<str>>,
    /// Certificates in PEM to trust beside the system's own.
    pub ca_bundle: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// The process: environment, web identity, instance role.
    Ambient,
    /// A Secret. Its version is part of the identity, so that an edit takes effect.
    Secret { key: ObjectKey, version: Version },
}

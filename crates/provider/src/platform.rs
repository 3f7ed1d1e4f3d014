//! The cluster-wide settings: on OpenShift `status.platformStatus` of the Infrastructure `cluster` and the CA bundle,
//! elsewhere none. They stay raw: each provider reads its own part.

use std::sync::Arc;

use machinist_domain::retry::Failure;
use serde_json::value::RawValue;

use crate::Pending;

/// Reads the settings.
pub trait Platform: Send + Sync {
    /// The current `status.platformStatus`; `None` where the cluster has none.
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>>;

    /// Certificates in PEM to trust; `None` where the cluster has none. A Machine's access already has them.
    fn ca_bundle(&self) -> Pending<'_, Result<Option<Arc<str>>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A cluster without a platform status.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPlatform;

impl Platform for NoPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

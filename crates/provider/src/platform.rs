//! The cluster-wide settings: on OpenShift `status.platformStatus` of the Infrastructure `cluster`, elsewhere none.
//! They stay raw: each provider reads its own part.

use std::sync::Arc;

use machinist_domain::retry::Failure;
use serde_json::value::RawValue;

use crate::Pending;

/// Reads the platform status.
pub trait Platform: Send + Sync {
    /// The current `status.platformStatus`; `None` where the cluster has none.
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>>;
}

/// A cluster without a platform status.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPlatform;

impl Platform for NoPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

//! The cluster-wide settings of the platform.
//!
//! On OpenShift this is `status.platformStatus` of the Infrastructure `cluster`. It stays raw: each provider reads its
//! own part. Elsewhere there is none.

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

//! What the cluster says of the cloud that it runs on, for all of its machines alike.
//!
//! On OpenShift this is `status.platformStatus` of the Infrastructure `cluster`. It stays raw: each provider reads its own part of it. Elsewhere
//! there is no such object, and nothing is said.

use std::sync::Arc;

use machinist_domain::retry::Failure;
use serde_json::value::RawValue;

use crate::Pending;

/// Says what holds for all machines of the cluster.
pub trait Platform: Send + Sync {
    /// `status.platformStatus`, as it is now; `None` where nobody says anything. That it could not be looked at is an error.
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>>;
}

/// A cluster that says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPlatform;

impl Platform for NoPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

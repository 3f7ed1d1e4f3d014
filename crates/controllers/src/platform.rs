//! The platform status of OpenShift's Infrastructure `cluster`, for providers. It is watched, on OpenShift only.
//!
//! [`rule`] selects providers by it.

pub mod metrics;
pub mod rule;

use std::sync::{Arc, OnceLock};

use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_provider::platform::Platform;
use machinist_runtime::cache::Cache;
use machinist_runtime::controller::start::Shared;
use serde_json::value::RawValue;

use crate::cloud_access::{decoded, infrastructure, open};
use crate::first_list::{self, Target};
use crate::kinds::{Infrastructure, Infrastructures};
use crate::openshift::OpenShift;

/// The platform of the control cluster.
#[derive(Debug)]
pub struct ClusterPlatform {
    shared: Arc<Shared>,
    openshift: OpenShift,
    /// Opened on OpenShift only.
    watch: OnceLock<Arc<Cache<Infrastructures>>>,
}

impl ClusterPlatform {
    /// Reads the control cluster.
    pub fn new(shared: &Arc<Shared>) -> Self {
        let openshift = OpenShift::new(shared);
        Self { shared: Arc::clone(shared), openshift, watch: OnceLock::new() }
    }

    /// The Infrastructure; `None` if there is none.
    pub async fn infrastructure(&self) -> Result<Option<Arc<Infrastructure>>, Failure> {
        if !self.openshift.is_here().await.map_err(|error| error.failure())? {
            return Ok(None);
        }
        let key = infrastructure();
        let watch = self.watch.get_or_init(|| open(&self.shared, key.clone(), Infrastructures));
        let what = || Target::Other(format!("infrastructures {key}"));
        let patience = self.shared.timings.request;
        first_list::wait(watch, what, patience).await.map_err(|error| error.failure())?;
        decoded::<Infrastructures>(watch.get(&key)).map_err(|error| error.failure())
    }
}

impl Platform for ClusterPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(async {
            let infrastructure = self.infrastructure().await?;
            Ok(infrastructure.and_then(|object| object.platform_status.clone()))
        })
    }
}

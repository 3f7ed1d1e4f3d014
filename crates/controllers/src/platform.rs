//! What OpenShift's Infrastructure `cluster` says of the cloud that the cluster runs on.
//!
//! Output: the raw platform status, for providers. It is watched, so asking costs nothing; elsewhere than on OpenShift it is not even watched.
//! [`rule`] is which providers follow from it.

pub mod metrics;
pub mod rule;

use std::sync::{Arc, OnceLock};

use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::Pending;
use machinist_provider::platform::Platform;
use machinist_runtime::cache::Cache;
use machinist_runtime::controller::start::Shared;
use serde_json::value::RawValue;

use crate::cloud_access::{infrastructure, open, understood};
use crate::first_list;
use crate::kinds::{Infrastructure, Infrastructures};
use crate::openshift::OpenShift;

/// The platform of the control cluster.
#[derive(Debug)]
pub struct ClusterPlatform {
    shared: Arc<Shared>,
    openshift: OpenShift,
    /// Opened when this turns out to be OpenShift.
    watch: OnceLock<Arc<Cache<Infrastructures>>>,
}

impl ClusterPlatform {
    /// Looks at the control cluster.
    pub fn new(shared: &Arc<Shared>) -> Self {
        let openshift = OpenShift::new(shared);
        Self { shared: Arc::clone(shared), openshift, watch: OnceLock::new() }
    }

    /// The Infrastructure; `None` where there is none. That it may not be seen does not mean that there is none.
    pub async fn infrastructure(&self) -> Result<Option<Arc<Infrastructure>>, Failure> {
        if !self.openshift.is_here().await.map_err(|error| error.failure())? {
            return Ok(None);
        }
        let key = infrastructure();
        let watch = self.watch.get_or_init(|| open(&self.shared, key.clone(), Infrastructures));
        let what = || format!("the infrastructure {key}");
        let patience = self.shared.timings.request;
        first_list::wait(watch, what, patience).await.map_err(|error| error.failure())?;
        understood::<Infrastructures>(watch.get(&key)).map_err(|error| error.failure())
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

//! OpenShift's settings for providers: the platform status of the Infrastructure `cluster`, and the CA bundle. [`rule`]
//! selects providers by the first.

pub(crate) mod metrics;
pub mod rule;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machinist_domain::retry::{Category, Failure};
use machinist_provider::Pending;
use machinist_provider::platform::Platform;
use machinist_runtime::controller::start::Shared;
use serde_json::value::RawValue;

use crate::cloud_access::openshift_object::OpenShiftObject;
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

#[derive(Debug)]
pub struct ClusterPlatform {
    infrastructure: OpenShiftObject<Infrastructures>,
    certificates: OpenShiftObject<Certificates>,
    warned: AtomicBool,
}

impl ClusterPlatform {
    pub fn new(shared: &Arc<Shared>) -> Self {
        let openshift = OpenShift::new(shared);
        Self {
            infrastructure: OpenShiftObject::infrastructure(shared, &openshift),
            certificates: OpenShiftObject::certificates(shared, &openshift),
            warned: AtomicBool::new(false),
        }
    }
}

impl Platform for ClusterPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(async {
            let infrastructure = self.infrastructure.get(|_| {}).await?;
            Ok(infrastructure.and_then(|object| object.platform_status.clone()))
        })
    }

    /// Without the right to read it there is none: an endpoint that needs it is then not trusted.
    fn ca_bundle(&self) -> Pending<'_, Result<Option<Arc<str>>, Failure>> {
        Box::pin(async {
            match self.certificates.get(|_| {}).await {
                Ok(map) => Ok(map.and_then(|map| map.ca_bundle.clone())),
                Err(failure) if failure.category == Category::Unauthorised => {
                    if !self.warned.swap(true, Ordering::Relaxed) {
                        tracing::warn!(error = failure.message, "trusting no custom CA");
                    }
                    Ok(None)
                }
                Err(failure) => Err(failure),
            }
        })
    }
}

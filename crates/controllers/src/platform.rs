//! The platform status of OpenShift's Infrastructure `cluster`, for providers. [`rule`] selects providers by it.

pub(crate) mod metrics;
pub mod rule;

use std::sync::Arc;

use machinist_domain::retry::Failure;
use machinist_provider::Pending;
use machinist_provider::platform::Platform;
use machinist_runtime::controller::start::Shared;
use serde_json::value::RawValue;

use crate::cloud_access::openshift_object::OpenShiftObject;
use crate::kinds::Infrastructures;
use crate::openshift::OpenShift;

#[derive(Debug)]
pub struct ClusterPlatform(OpenShiftObject<Infrastructures>);

impl ClusterPlatform {
    pub fn new(shared: &Arc<Shared>) -> Self {
        Self(OpenShiftObject::infrastructure(shared, &OpenShift::new(shared)))
    }
}

impl Platform for ClusterPlatform {
    fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
        Box::pin(async {
            let infrastructure = self.0.get(|_| {}).await?;
            Ok(infrastructure.and_then(|object| object.platform_status.clone()))
        })
    }
}

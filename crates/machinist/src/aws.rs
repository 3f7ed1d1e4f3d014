//! Reads instance types from EC2 for verbs that run without a cluster.

use std::sync::Arc;

use machinist_aws_spec::InstanceType;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider_aws::all_types;

use crate::verbs::recycle::environment::NoSecrets;

/// Every instance type of a region, with credentials and endpoint from the environment, as the AWS CLI has them.
pub(crate) fn listed_types(region: &str) -> anyhow::Result<Vec<InstanceType<'static>>> {
    let access = CloudAccess {
        region: region.into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(all_types(Arc::new(NoSecrets), &access))?)
}

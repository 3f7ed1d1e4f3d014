//! Reads instance types from EC2 for verbs that run without a cluster.

use std::sync::Arc;

use machinist_aws_spec::InstanceType;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_aws::all_types;

/// Every instance type of a region, with credentials and endpoint from the environment, as the AWS CLI has them.
pub(crate) fn listed_types(region: &str) -> anyhow::Result<Vec<InstanceType<'static>>> {
    let realm = CloudAccess {
        region: region.into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(all_types(Arc::new(NoSecrets), &realm))?)
}

/// Without a cluster there are no Secrets.
struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(async {
            Err(Failure {
                category: Category::NotFound,
                retry: Retry::OnChange,
                message: "Secrets cannot be read without a cluster".to_owned(),
            })
        })
    }
}

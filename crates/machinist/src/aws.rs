//! Ties the AWS provider to the process, and asks EC2 for verbs that run without a cluster.

use std::sync::Arc;

use machinist_aws_spec::TypeFacts;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::capacity::{CapacitySource, Credentials, Realm};
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_aws::{Ec2Types, Parts, TypeTimings, all_types};
use machinist_runtime::controller::start::Shared;

use crate::parts;

/// EC2 as a source of capacities, for as long as the process runs.
pub(crate) fn ec2_types(shared: &Arc<Shared>) -> Arc<dyn CapacitySource> {
    let parts = parts::of(shared, &MachineTimings::default());
    Ec2Types::new(Parts {
        secrets: parts.secrets,
        witness: parts.witness,
        clock: parts.clock,
        timings: TypeTimings {
            retry_base: parts.timings.retry_base,
            retry_max: parts.timings.retry_max,
            ..TypeTimings::default()
        },
        spawn: parts.spawn,
        page_size: None,
    })
}

/// Every type that EC2 lists in a region, with credentials and endpoint as the AWS tools find them.
pub(crate) fn listed_types(region: &str) -> anyhow::Result<Vec<TypeFacts>> {
    let realm = Realm {
        region: region.into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(all_types(Arc::new(NoSecrets), &realm, None))?)
}

/// There is no cluster, so there are no Secrets; the realm names none.
struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read<'a>(&'a self, _: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>> {
        Box::pin(async {
            Err(Failure {
                category: Category::NotFound,
                retry: Retry::OnChange,
                message: "there is no cluster to read it from".to_owned(),
            })
        })
    }
}

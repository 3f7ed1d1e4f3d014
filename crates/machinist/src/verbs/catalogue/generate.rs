//! The catalogue's own file, made anew from what EC2 lists (`make catalogue`).
//!
//! In: the region of the environment, and credentials and endpoint as the AWS tools find them. Out: the file's text. Nothing is written here.

use std::sync::Arc;

use machinist_aws_spec::catalogue::{self, DeviceFacts, TypeFacts};
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::Pending;
use machinist_provider::capacity::{Credentials, Realm};
use machinist_provider::secret::{SecretData, SecretReader};
use machinist_provider_aws as aws;

const REGION: &str = "us-east-1";

/// The text of the file.
pub(super) fn text() -> anyhow::Result<String> {
    let region =
        ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    let realm = Realm {
        region: region.as_deref().unwrap_or(REGION).into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listed = runtime.block_on(aws::all_types(Arc::new(NoSecrets), &realm, None))?;
    let facts: Vec<_> = listed.into_iter().map(facts).collect();
    Ok(catalogue::write(&facts))
}

fn facts(listed: aws::TypeFacts) -> TypeFacts {
    let devices = |devices: Vec<aws::Device>| {
        let facts = |device: aws::Device| DeviceFacts {
            count: device.count,
            maker: device.manufacturer,
            model: device.name,
        };
        devices.into_iter().map(facts).collect()
    };
    TypeFacts {
        name: listed.name,
        vcpus: listed.vcpus,
        memory_mib: listed.memory_mib,
        architectures: listed.architectures,
        gpus: devices(listed.gpus),
        accelerators: devices(listed.accelerators),
        interfaces: listed.max_interfaces,
        addresses_per_interface: listed.ipv4_per_interface,
        storage_gb: listed.instance_storage_gb,
    }
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

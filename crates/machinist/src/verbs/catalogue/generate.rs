//! The catalogue's own file, made anew from what EC2 lists (`make catalogue`).
//!
//! In: the region of the environment, and credentials and endpoint as the AWS tools find them. Out: the file's text. Nothing is written here.

use machinist_aws_spec::catalogue::{self, DeviceFacts, TypeFacts};
use machinist_provider_aws as aws;

use crate::aws::listed_types;

const REGION: &str = "us-east-1";

/// The text of the file.
pub(super) fn text() -> anyhow::Result<String> {
    let region =
        ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| std::env::var(name).ok());
    let listed = listed_types(region.as_deref().unwrap_or(REGION))?;
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

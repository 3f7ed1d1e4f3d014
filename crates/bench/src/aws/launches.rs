//! The limit: a bare SDK that knows image, subnet and security group beforehand and does nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;
use aws_sdk_ec2::Client;
use aws_sdk_ec2::config::retry::RetryConfig;
use aws_sdk_ec2::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_ec2::types::{
    BlockDeviceMapping, EbsBlockDevice, InstanceNetworkInterfaceSpecification, ResourceType, Tag,
    TagSpecification,
};
use machinist_testbed::aws::{AwsBed, Estate};
use tokio::task::JoinSet;

use super::stage::{CLUSTER, REGION};

/// From the first question to the last answer. moto is fresh.
pub(super) async fn time(machines: usize, concurrency: usize) -> Result<f64> {
    let bed = AwsBed::start().await?;
    let estate = Arc::new(Estate::found(bed.moto(), REGION, CLUSTER).await?);
    let client = client(&bed.endpoint_url());
    // Connections are open beforehand.
    client.describe_vpcs().send().await?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    let start = Instant::now();
    for _ in 0..concurrency.min(machines) {
        let (client, estate, next) = (client.clone(), Arc::clone(&estate), Arc::clone(&next));
        workers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= machines {
                    return anyhow::Ok(());
                }
                launch(&client, &estate, number).await?;
            }
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("  raw {seconds:.2} s ({concurrency} at once)");
    Ok(seconds)
}

async fn launch(client: &Client, estate: &Estate, number: usize) -> Result<()> {
    let uid = format!("{number:08x}-1111-4222-8333-444444444444");
    let tagged = |kind| tags(estate, kind, number, &uid);
    let interface = InstanceNetworkInterfaceSpecification::builder()
        .device_index(0)
        .subnet_id(estate.subnet())
        .groups(estate.security_group())
        .build();
    let disk = EbsBlockDevice::builder().delete_on_termination(true).volume_size(8).build();
    let disk = BlockDeviceMapping::builder().device_name("/dev/sda1").ebs(disk).build();
    let call = client
        .run_instances()
        .client_token(format!("{uid}-1"))
        .min_count(1)
        .max_count(1)
        .image_id(estate.image())
        .instance_type("m5.large".into())
        .network_interfaces(interface)
        .block_device_mappings(disk)
        .tag_specifications(tagged(ResourceType::Instance))
        .tag_specifications(tagged(ResourceType::Volume));
    call.send().await?;
    Ok(())
}

fn tags(estate: &Estate, kind: ResourceType, number: usize, uid: &str) -> TagSpecification {
    let pairs = [
        ("Name".to_owned(), format!("workers-{number}")),
        (estate.cluster_tag(), "owned".to_owned()),
        ("team".to_owned(), "a".to_owned()),
        ("machinist.dev/cluster".to_owned(), estate.name().to_owned()),
        ("machinist.dev/machine-uid".to_owned(), uid.to_owned()),
        ("machinist.dev/made-by".to_owned(), "bench".to_owned()),
    ];
    let tags = pairs.map(|(key, value)| Tag::builder().key(key).value(value).build());
    TagSpecification::builder().resource_type(kind).set_tags(Some(tags.into())).build()
}

fn client(endpoint: &str) -> Client {
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new("AKIABENCH", "x", None, None, "bench"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(endpoint)
        .build();
    Client::from_conf(config)
}

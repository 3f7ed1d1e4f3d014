//! Machines that EC2 may take back: Machine and Node have a label, by which the termination handler selects its nodes.

use anyhow::{Context, ensure};
use kube::ResourceExt;
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::Fleet;
use crate::ec2::support::PATIENCE;

const INTERRUPTIBLE: &str = "machine.openshift.io/interruptible-instance";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_and_node_of_a_spot_instance_are_marked() {
    let fleet = Fleet::new("spot").await.unwrap();
    let _controllers = fleet.controllers(&[]).await.unwrap();
    fleet.create_set(1, &fleet.spec(&json!({"spotMarketOptions": {}}))).await.unwrap();
    let id = fleet.settled(1).await.unwrap().remove(0).id;
    poll::eventually(PATIENCE, "machine and node to be marked", || async {
        let machine = fleet.only_machine().await?;
        let node = fleet.nodes().get(&id).await.context("its Node")?;
        for labels in [machine.labels(), node.labels()] {
            ensure!(labels.get(INTERRUPTIBLE).is_some_and(String::is_empty), "{labels:?}");
        }
        let of_spec = &machine.data["spec"]["metadata"]["labels"][INTERRUPTIBLE];
        ensure!(of_spec == "", "{of_spec}");
        Ok(())
    })
    .await
    .unwrap();
    let launch = &fleet.cloud.front().calls_of("RunInstances")[0].parameters;
    assert_eq!(launch["InstanceMarketOptions.MarketType"], "spot");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_and_node_of_an_instance_on_demand_are_not() {
    let fleet = Fleet::new("on-demand").await.unwrap();
    let _controllers = fleet.controllers(&[]).await.unwrap();
    fleet.create_set(1, &fleet.spec(&json!({}))).await.unwrap();
    let id = fleet.settled(1).await.unwrap().remove(0).id;
    let machine = fleet.only_machine().await.unwrap();
    let node = fleet.nodes().get(&id).await.unwrap();
    for labels in [machine.labels(), node.labels()] {
        assert!(!labels.contains_key(INTERRUPTIBLE), "{labels:?}");
    }
}

//! OpenShift's two machine APIs: only the authoritative one is followed, with the feature gate of the flag or, without
//! one, of the cluster.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{askers, cloud};
use crate::ec2::support::stays;
use crate::ec2::support::world::{Ec2World, VCPU, machine};

async fn set_status(world: &Ec2World, name: &str, status: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": status}));
    world.sets().patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn paused(status: &str) -> Value {
    json!([{"type": "Paused", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_gate_only_the_api_in_charge_is_followed() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("migration").await?, cloud().await?);
    let sets = [
        ("other", json!({"authoritativeAPI": "ClusterAPI"})),
        ("paused", json!({"authoritativeAPI": "MachineAPI", "conditions": paused("True")})),
    ];
    for (name, status) in sets {
        world.create(name, machine("m5.xlarge")).await?;
        set_status(&world, name, status).await?;
    }
    world.create("silent", machine("m5.xlarge")).await?;
    let gate = "--feature-gates=SomethingElse=true,MachineAPIMigration=true";
    let annotator = Launch::new(&world)?.asking(&cloud).flag(gate).start().await?;
    world.create("ours", machine("m5.large")).await?;
    set_status(&world, "ours", json!({"authoritativeAPI": "MachineAPI"})).await?;
    world.until_annotated("ours", VCPU, "2").await?;
    stays("the others are left alone", async || {
        for name in ["other", "paused", "silent"] {
            ensure!(world.annotations(name).await?.is_empty(), "{name}");
        }
        Ok(())
    })
    .await?;
    assert!(askers(&cloud, "m5.xlarge").is_empty(), "no call for a set that is not reconciled");
    assert!(annotator.log()?.contains("SomethingElse"));

    // The definition insists: authority changes hands by way of this.
    set_status(&world, "other", json!({"authoritativeAPI": "Migrating"})).await?;
    set_status(&world, "other", json!({"authoritativeAPI": "MachineAPI"})).await?;
    set_status(&world, "paused", json!({"conditions": paused("False")})).await?;
    world.until_annotated("other", VCPU, "4").await?;
    world.until_annotated("paused", VCPU, "4").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_all_are_followed() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("no-gate").await?, cloud().await?);
    world.create("other", machine("m5.large")).await?;
    set_status(&world, "other", json!({"authoritativeAPI": "ClusterAPI"})).await?;
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.until_annotated("other", VCPU, "2").await?;
    Ok(())
}

const GATE: &[&str] = &["MachineAPIMigration"];

/// During an upgrade the FeatureGate lists two versions; one that has the gate is enough.
#[tokio::test(flavor = "multi_thread")]
async fn the_gate_of_the_cluster_is_obeyed_and_its_changes_too() -> Result<()> {
    let world = Ec2World::openshift("cluster-gate").await?;
    world.set_gates(&[("4.20.1", &[], GATE), ("4.21.0", GATE, &[])]).await?;
    world.create("other", machine("m5.large")).await?;
    set_status(&world, "other", json!({"authoritativeAPI": "ClusterAPI"})).await?;
    let launch = Launch::new(&world)?.flag("--instance-types=catalogue");
    let _annotator = launch.start().await?;
    world.create("ours", machine("m5.large")).await?;
    set_status(&world, "ours", json!({"authoritativeAPI": "MachineAPI"})).await?;
    world.until_annotated("ours", VCPU, "2").await?;
    stays("the other is left alone", async || {
        ensure!(world.annotations("other").await?.is_empty(), "it is annotated");
        Ok(())
    })
    .await?;

    world.set_gates(&[("4.21.0", &[], GATE)]).await?;
    world.until_annotated("other", VCPU, "2").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flag_wins_over_the_gate_of_the_cluster() -> Result<()> {
    let world = Ec2World::openshift("flag-gate").await?;
    world.set_gates(&[("4.21.0", GATE, &[])]).await?;
    world.create("other", machine("m5.large")).await?;
    set_status(&world, "other", json!({"authoritativeAPI": "ClusterAPI"})).await?;
    let launch = Launch::new(&world)?.flag("--instance-types=catalogue");
    let _annotator = launch.flag("--feature-gates=MachineAPIMigration=false").start().await?;
    world.until_annotated("other", VCPU, "2").await?;
    Ok(())
}

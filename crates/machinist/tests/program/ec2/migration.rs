//! OpenShift's two machine APIs: only the one that is in charge is followed, if the gate says so.

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{askers, cloud};
use crate::ec2::support::scene::{Scene, VCPU, machine};
use crate::ec2::support::stays;

async fn set_status(scene: &Scene, name: &str, status: Value) -> Result<()> {
    let patch = Patch::Merge(json!({"status": status}));
    scene.sets().patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn paused(status: &str) -> Value {
    json!([{"type": "Paused", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_gate_only_the_api_in_charge_is_followed() -> Result<()> {
    let (scene, cloud) = (Scene::plain("migration").await?, cloud().await?);
    let sets = [
        ("other", json!({"authoritativeAPI": "ClusterAPI"})),
        ("paused", json!({"authoritativeAPI": "MachineAPI", "conditions": paused("True")})),
    ];
    for (name, status) in sets {
        scene.create(name, machine("m5.xlarge")).await?;
        set_status(&scene, name, status).await?;
    }
    scene.create("silent", machine("m5.xlarge")).await?;
    let gate = "--feature-gates=SomethingElse=true,MachineAPIMigration=true";
    let annotator = Launch::new(&scene)?.asking(&cloud).flag(gate).start().await?;
    scene.create("ours", machine("m5.large")).await?;
    set_status(&scene, "ours", json!({"authoritativeAPI": "MachineAPI"})).await?;
    scene.says("ours", VCPU, "2").await?;
    stays("the others are left alone", async || {
        for name in ["other", "paused", "silent"] {
            ensure!(scene.annotations(name).await?.is_empty(), "{name}");
        }
        Ok(())
    })
    .await?;
    assert!(askers(&cloud, "m5.xlarge").is_empty(), "no call for a set that is not reconciled");
    assert!(annotator.log()?.contains("SomethingElse"));

    // The definition insists: authority changes hands by way of this.
    set_status(&scene, "other", json!({"authoritativeAPI": "Migrating"})).await?;
    set_status(&scene, "other", json!({"authoritativeAPI": "MachineAPI"})).await?;
    set_status(&scene, "paused", json!({"conditions": paused("False")})).await?;
    scene.says("other", VCPU, "4").await?;
    scene.says("paused", VCPU, "4").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_all_are_followed() -> Result<()> {
    let (scene, cloud) = (Scene::plain("no-gate").await?, cloud().await?);
    scene.create("other", machine("m5.large")).await?;
    set_status(&scene, "other", json!({"authoritativeAPI": "ClusterAPI"})).await?;
    let _annotator = Launch::new(&scene)?.asking(&cloud).start().await?;
    scene.says("other", VCPU, "2").await?;
    Ok(())
}

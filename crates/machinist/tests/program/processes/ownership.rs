//! The annotator writes exactly the fields that it declares.

use anyhow::{Result, ensure};
use kube::api::PostParams;
use machinist_controllers::annotator;
use machinist_testbed::audit::AuditLog;
use machinist_testbed::cluster;
use machinist_testbed::ownership;
use machinist_testbed::poll;
use serde_json::{Value, json};

use crate::processes::support::process::Process;
use crate::processes::support::replica::LEADER;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::{
    AnnotatorWorld, SMALL, Shape, UNKNOWN, deployment_spec, spec,
};

const GPU: Shape = Shape { instance_type: "p4d.24xlarge", vcpus: "96" };

/// A deployment with every field that is read.
fn full_deployment(shape: Shape) -> Value {
    let mut spec = deployment_spec(shape);
    spec["template"]["spec"] = full(shape)["template"]["spec"].take();
    spec
}

/// A set with every field that is read.
fn full(shape: Shape) -> Value {
    let mut spec = spec(shape);
    let machine = &mut spec["template"]["spec"]["providerSpec"]["value"];
    machine["placement"] = json!({"region": "eu-west-1", "availabilityZone": "eu-west-1a"});
    machine["blockDevices"] = json!([{"ebs": {"volumeSize": 120}}]);
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn the_annotator_writes_exactly_what_it_declares() -> Result<()> {
    let control_plane = ownership::control_plane().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::on(&control_plane, "ownership").await?;
    let flags = [
        "--namespace",
        &world.namespace,
        "--max-pods=eni",
        "--leader-elect",
        "--leader-elect-resource-namespace",
        &world.namespace,
    ];
    let mut process = Process::start(control_plane.kubeconfig_yaml(), "ownership", &flags).await?;
    process.wait_metric(LEADER, |value| value > 0.5).await?;

    // Everything that another client may have set, and everything that comes and goes with the type.
    let metadata = json!({
        "name": "taken",
        "labels": {"team": "a"},
        "finalizers": ["example.com/wait"],
        "annotations": {
            "capacity.cluster-autoscaler.kubernetes.io/cpu": "3",
            "capacity.cluster-autoscaler.kubernetes.io/labels": "team=a,kubernetes.io/arch=arm64",
            "example.com/x": "y",
            "machine.openshift.io/vCPU": "99",
        },
    });
    let set = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": metadata,
        "spec": full(SMALL),
    }))?;
    world.sets().create(&PostParams::default(), &set).await?;
    let deployment = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineDeployment",
        "metadata": metadata,
        "spec": full_deployment(SMALL),
    }))?;
    world.deployments().create(&PostParams::default(), &deployment).await?;
    world.create_machine_deployment("web", json!({}), full_deployment(GPU)).await?;
    world.create_machine_set("set", json!({}), full(GPU)).await?;
    world.create_set("unknown", UNKNOWN).await?;
    world.annotated("taken", SMALL).await?;
    world.annotated("set", GPU).await?;
    world.deployment_annotated("taken", SMALL).await?;
    world.deployment_annotated("web", GPU).await?;
    // A merge patch that removes the zone and the size of the volume, too.
    let mut smaller = deployment_spec(SMALL);
    let machine = &mut smaller["template"]["spec"]["providerSpec"]["value"];
    machine["placement"] = json!(null);
    machine["blockDevices"] = json!(null);
    world.patch_deployment("web", json!({"spec": smaller})).await?;
    world.deployment_annotated("web", SMALL).await?;
    world.change_set("set", SMALL).await?;
    world.annotated("set", SMALL).await?;
    world.delete_set("set").await?;
    process.terminate().await?;
    // Another process takes the Lease that the first one leaves behind.
    let mut process = Process::start(control_plane.kubeconfig_yaml(), "ownership", &flags).await?;
    process.wait_metric(LEADER, |value| value > 0.5).await?;
    process.terminate().await?;

    let claims = ownership::claims(&annotator::DECLARATION);
    // The log comes a moment after the effect.
    poll::eventually(PATIENCE, "the audit log to match the declaration", || async {
        let log = AuditLog::of(&control_plane).read_new()?;
        let ours = ownership::touches(&log, |entry| entry.user_agent.starts_with("machinist-"));
        ensure!(!ours.is_empty(), "nothing was written");
        ownership::compare(&claims, &ours)
    })
    .await
}

//! The annotator writes the capacity of this provider's flavours onto its MachineSets, against a real API server.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use machinist_control_plane::{ControlPlane, children};
use serde_json::{Value, json};
use tokio::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machine-api-provider-example");
const PATIENCE: Duration = Duration::from_secs(60);

/// The provider spec of a machine on the hypervisor.
fn example(flavour: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "ExampleMachineProviderConfig",
        "flavour": flavour,
    })
}

/// The provider spec of a machine on AWS, whose provider is not part of this binary.
fn aws(instance_type: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderConfig",
        "instanceType": instance_type,
        "placement": {"region": "eu-west-1"},
    })
}

fn machine_set(name: &str, spec: &Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"set": name}},
            "template": {
                "metadata": {"labels": {"set": name}},
                "spec": {"providerSpec": {"value": spec}},
            },
        },
    }))?)
}

/// The annotation's value, once the annotator has written it.
async fn annotation(sets: &Api<DynamicObject>, set: &str, name: &str) -> Result<String> {
    let start = Instant::now();
    loop {
        let object = sets.get(set).await?;
        if let Some(value) = object.annotations().get(name) {
            return Ok(value.clone());
        }
        ensure!(start.elapsed() < PATIENCE, "{set} has no {name}: {:?}", object.annotations());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_sets_of_this_provider_are_annotated() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let crds = Command::new(PROGRAM).arg("crds").output().await?;
    control_plane.install_crds(&String::from_utf8(crds.stdout)?).await?;
    let mut annotator = Command::new(PROGRAM);
    annotator
        .args(["run", "--controllers=annotator", "--metrics-bind-address=0", "--health-addr=0"])
        .env("KUBECONFIG", control_plane.kubeconfig_path())
        .stdout(Stdio::null());
    let _annotator = children::spawn(&mut annotator).context("starting the annotator")?;

    let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", "MachineSet");
    let kind = ApiResource::from_gvk_with_plural(&kind, "machinesets");
    let sets = Api::namespaced_with(control_plane.client()?, "default", &kind);
    for (set, spec, cpus, memory) in [
        ("small", example("small"), "2", "4096"),
        ("large", example("large"), "8", "32768"),
        // From the built-in catalogue.
        ("aws", aws("m5.large"), "2", "8192"),
    ] {
        sets.create(&PostParams::default(), &machine_set(set, &spec)?).await?;
        assert_eq!(annotation(&sets, set, "machine.openshift.io/vCPU").await?, cpus);
        assert_eq!(annotation(&sets, set, "machine.openshift.io/memoryMb").await?, memory);
        let upstream = "capacity.cluster-autoscaler.kubernetes.io/cpu";
        assert_eq!(annotation(&sets, set, upstream).await?, cpus);
    }
    Ok(())
}

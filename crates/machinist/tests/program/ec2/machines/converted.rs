//! A MachineSet of Gardener's machine-controller-manager, converted: its living instance is adopted.

use anyhow::{Context, Result, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use machinist_testbed::{poll, process};
use serde_json::{Value, json};
use tokio::process::Command;

use super::fleet::{Fleet, PATIENCE};
use crate::ec2::support::stays;

const MACHINE: &str = "workers-5f7d9-x2x4c";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_living_instance_is_adopted_after_a_conversion() {
    let fleet = Fleet::new("converted").await.unwrap();
    fleet.put_secret("cloud-aws", &KEYS).await.unwrap();
    // Machine-controller-manager writes 1, and tags every instance with a role.
    let cluster = fleet.estate.cluster_tag();
    let tags =
        [("Name", MACHINE), (&*cluster, "1"), ("kubernetes.io/role/node", "1"), ("team", "a")];
    let id = fleet.estate.launch(&tags).await.unwrap();
    apply_converted(&fleet, &id).await.unwrap();

    let _controllers = fleet.controllers(&[]).await.unwrap();
    let instances = fleet.settled(1).await.unwrap();
    assert_eq!(instances[0].id, id);
    poll::eventually(PATIENCE, "the Machine to be the set's", || async {
        let machine = fleet.machines().get(MACHINE).await?;
        let owners = machine.metadata.owner_references.unwrap_or_default();
        ensure!(owners.iter().any(|owner| owner.name == "workers-5f7d9"), "{owners:?}");
        // Machine-controller-manager has the region there.
        let provider_id = machine.data.pointer("/spec/providerID").and_then(Value::as_str);
        let expected = format!("aws:///{}/{id}", instances[0].zone);
        ensure!(provider_id == Some(&*expected), "{provider_id:?}");
        Ok(())
    })
    .await
    .unwrap();
    stays("only the tags to change", async || {
        let changes = fleet.changes();
        let actions: Vec<_> = changes.iter().map(|call| call.action.as_str()).collect();
        ensure!(actions == ["CreateTags"], "{actions:?}");
        Ok(())
    })
    .await
    .unwrap();
}

const KEYS: [(&str, &str); 2] =
    [("aws_access_key_id", "AKIAMACHINES"), ("aws_secret_access_key", "x")];

async fn apply_converted(fleet: &Fleet, id: &str) -> Result<()> {
    let (region, namespace) = (fleet.estate.region(), &*fleet.namespace);
    let class = json!({
        "metadata": {"name": "c", "namespace": namespace},
        "provider": "AWS",
        "secretRef": {"name": "user-data"},
        "credentialsSecretRef": {"name": "cloud"},
        "providerSpec": {
            "ami": "ami-0123456789abcdef0", "machineType": "m5.large", "region": region,
            "tags": {fleet.estate.cluster_tag(): "1", "kubernetes.io/role/node": "1", "team": "a"},
        },
    });
    let labels = json!({"name": "workers", "machine-template-hash": "4065"});
    let spec = json!({"class": {"kind": "MachineClass", "name": "c"}});
    let set = json!({
        "metadata": {"name": "workers-5f7d9", "namespace": namespace, "uid": "s"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    });
    let mut machine = json!({
        "metadata": {"name": MACHINE, "namespace": namespace, "uid": "m", "labels": labels},
        "spec": spec,
    });
    machine["spec"]["providerID"] = json!(format!("aws:///{region}/{id}"));
    let kinds = [("MachineClass", class), ("MachineSet", set), ("Machine", machine)];
    let input = kinds.map(|(kind, mut object)| {
        object["apiVersion"] = json!("machine.sapcloud.io/v1alpha1");
        object["kind"] = json!(kind);
        object.to_string()
    });

    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    command.args(["convert", "-f", "-", "-o", "json"]);
    let output = process::output(&mut command, &input.concat()).await?;
    let client = fleet.control_plane().client()?;
    for object in serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>() {
        let object = object?;
        let kind = object["kind"].as_str().context("no kind")?;
        if kind == "MachineHealthCheck" {
            continue;
        }
        let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", kind);
        let kind = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        let name = object["metadata"]["name"].as_str().context("no name")?;
        api.patch(name, &PatchParams::apply("test"), &Patch::Apply(&object)).await?;
    }
    Ok(())
}

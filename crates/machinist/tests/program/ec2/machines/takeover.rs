//! A fleet as machine-api-provider-aws leaves it: it is taken over without a new instance, and without a change in EC2
//! but the tags that it lacks.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use machinist_testbed::poll;
use serde_json::{Value, json};

use super::fleet::{Fleet, SET, UID};
use crate::ec2::support::{PATIENCE, stays};

const SIZE: usize = 4;
/// A tag that is not in the spec.
const THEIRS: (&str, &str) = ("theirs", "stays");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_of_the_go_provider_is_taken_over() {
    let fleet = Fleet::new("takeover").await.unwrap();
    let spec = fleet.spec(&json!({}));
    let set = fleet.create_set(SIZE + 1, &spec).await.unwrap();
    let mut ids = Vec::new();
    for number in 0..SIZE {
        ids.push(running_machine(&fleet, &set, &spec, number).await.unwrap());
    }
    // The other controller died between its launch and the first word about it.
    ids.push(unrecorded_machine(&fleet, &set, &spec).await.unwrap());
    let before = uids(&fleet).await.unwrap();
    ids.sort();

    let controllers = fleet.controllers(&[]).await.unwrap();
    poll::eventually(PATIENCE, "every instance to say whose it is", || async {
        let live = fleet.estate.live().await?;
        ensure!(live.iter().all(|one| one.tags.contains_key(UID)), "{live:?}");
        Ok(())
    })
    .await
    .unwrap();
    fleet.settled(SIZE + 1).await.unwrap();
    stays("nothing else to change", async || only_tags(&fleet, SIZE + 1)).await.unwrap();

    let mut there: Vec<_> =
        fleet.estate.instances().await.unwrap().into_iter().map(|one| one.id).collect();
    there.sort();
    assert_eq!(there, ids, "neither more nor fewer");
    assert_eq!(uids(&fleet).await.unwrap(), before, "the machines are the same");
    for instance in fleet.estate.live().await.unwrap() {
        assert_eq!(instance.tags.get(THEIRS.0).map(String::as_str), Some(THEIRS.1));
    }
    drop(controllers);
}

/// Not on OpenShift: nothing but the label of its Machines says what the other controller calls the cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_is_taken_over_by_the_cluster_that_its_label_names() {
    let fleet = Fleet::new("label").await.unwrap();
    fleet.set_infrastructure(json!({"infrastructureName": "another-name"})).await.unwrap();
    let spec = fleet.spec(&json!({}));
    let set = fleet.create_set(1, &spec).await.unwrap();
    let id = unrecorded_machine(&fleet, &set, &spec).await.unwrap();
    let _controllers = fleet.controllers(&[]).await.unwrap();
    let instances = fleet.settled(1).await.unwrap();
    assert_eq!(instances[0].id, id);
    poll::eventually(PATIENCE, "its tags", || async { only_tags(&fleet, 1) }).await.unwrap();
    stays("nothing else to change", async || only_tags(&fleet, 1)).await.unwrap();
}

/// Each instance was tagged once, and nothing else was tried.
fn only_tags(fleet: &Fleet, size: usize) -> Result<()> {
    let changes = fleet.changes();
    let actions: Vec<_> = changes.iter().map(|call| call.action.as_str()).collect();
    ensure!(actions == vec!["CreateTags"; size], "{actions:?}");
    Ok(())
}

/// What the other controller has launched for a machine.
async fn launched(fleet: &Fleet, name: &str) -> Result<(String, String)> {
    let cluster = fleet.estate.cluster_tag();
    let tags = [("Name", name), (&*cluster, "owned"), ("team", "a"), THEIRS];
    let id = fleet.estate.launch(&tags).await?;
    let live = fleet.estate.live().await?;
    let instance = live.into_iter().find(|one| one.id == id).context("an instance")?;
    Ok((id, instance.zone))
}

async fn unrecorded_machine(fleet: &Fleet, set: &DynamicObject, spec: &Value) -> Result<String> {
    let name = format!("{SET}-unsaid");
    create(fleet, set, spec, &name).await?;
    // The last line that it logs before it launches.
    let status = Patch::Merge(json!({"status": {"phase": "Provisioning"}}));
    fleet.machines().patch_status(&name, &PatchParams::default(), &status).await?;
    // The clock of EC2 has whole seconds, so the instance is as old as the machine or younger.
    Ok(launched(fleet, &name).await?.0)
}

async fn running_machine(
    fleet: &Fleet,
    set: &DynamicObject,
    spec: &Value,
    number: usize,
) -> Result<String> {
    let name = format!("{SET}-{number}");
    let (id, zone) = launched(fleet, &name).await?;
    create(fleet, set, spec, &name).await?;
    let machines = fleet.machines();
    let user = PatchParams::default();
    let record = json!({
        "metadata": {
            "annotations": {"machine.openshift.io/instance-state": "running"},
            "labels": {
                "machine.openshift.io/instance-type": "m5.large",
                "machine.openshift.io/region": fleet.estate.region(),
                "machine.openshift.io/zone": zone,
            },
        },
        "spec": {"providerID": format!("aws:///{zone}/{id}")},
    });
    machines.patch(&name, &user, &Patch::Merge(record)).await?;
    let since = "2026-01-01T00:00:00Z";
    let status = json!({"status": {
        "phase": "Running",
        "lastUpdated": since,
        "providerStatus": {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderStatus",
            "instanceId": id,
            "instanceState": "running",
            "conditions": [{
                "type": "MachineCreation", "status": "True",
                "reason": "MachineCreationSucceeded", "message": "Machine successfully created",
                "lastTransitionTime": since,
            }],
        },
        "conditions": [
            {"type": "Drainable", "status": "True", "lastTransitionTime": since},
            {"type": "InstanceExists", "status": "True", "lastTransitionTime": since},
            {"type": "Terminable", "status": "True", "lastTransitionTime": since},
        ],
    }});
    machines.patch_status(&name, &user, &Patch::Merge(status)).await?;
    Ok(id)
}

/// A Machine as its set makes it.
async fn create(fleet: &Fleet, set: &DynamicObject, spec: &Value, name: &str) -> Result<()> {
    let machine = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "labels": fleet.labels(),
            "finalizers": ["machine.machine.openshift.io"],
            "ownerReferences": [{
                "apiVersion": "machine.openshift.io/v1beta1",
                "kind": "MachineSet",
                "name": SET,
                "uid": set.metadata.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {"providerSpec": {"value": spec}},
    }))?;
    fleet.machines().create(&PostParams::default(), &machine).await?;
    Ok(())
}

async fn uids(fleet: &Fleet) -> Result<Vec<Option<String>>> {
    let machines = fleet.machines().list(&ListParams::default()).await?;
    let mut uids: Vec<_> = machines.iter().map(ResourceExt::uid).collect();
    uids.sort();
    Ok(uids)
}

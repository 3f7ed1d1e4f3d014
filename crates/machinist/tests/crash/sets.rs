//! What both scenarios do with MachineSets, and how they look at them.

use anyhow::{Result, ensure};
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use machinist_api::machine_set::MachineSet;
use machinist_api::names;
use machinist_testbed::World;
use serde_json::{Value, json};

/// These have a finalizer: after their deletion they are still there, with what was written on them.
const HELD: [&str; 2] = ["d", "e"];

/// Events about a state. One about a write is a by-product of it and may be lost with the process.
const STATE: [&str; 2] = ["FailedUpdate", "ReconcileError"];

pub(crate) fn machine_set(name: &str, spec: &Value) -> Result<MachineSet> {
    let finalizers = if HELD.contains(&name) { vec!["example.com/hold"] } else { vec![] };
    let labels = "team=a,kubernetes.io/arch=wrong";
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {
            "name": name,
            "finalizers": finalizers,
            "annotations": {names::ANNOTATION_CAPACITY_LABELS: labels},
        },
        "spec": {"template": {"spec": {"providerSpec": {"value": spec}}}},
    }))?)
}

pub(crate) async fn change_type(
    sets: &Api<MachineSet>,
    name: &str,
    instance_type: &str,
) -> Result<()> {
    let spec = json!({"spec": {"template": {"spec": {"providerSpec": {"value": {
        "instanceType": instance_type,
    }}}}}});
    sets.patch(name, &PatchParams::default(), &Patch::Merge(&spec)).await?;
    Ok(())
}

pub(crate) async fn delete(world: &World, names: impl IntoIterator<Item = &str>) -> Result<()> {
    let sets: Api<MachineSet> = world.api();
    for name in names {
        sets.delete(name, &DeleteParams::default()).await?;
    }
    world
        .eventually("only those with a finalizer are left", || async {
            let left = sets.list(&ListParams::default()).await?;
            let left: Vec<_> = left.iter().map(ResourceExt::name_any).collect();
            ensure!(left == HELD, "left are {left:?}");
            Ok(())
        })
        .await
}

/// Waits until the set is annotated with the capacity of its type.
pub(crate) async fn until_annotated(world: &World, name: &str, instance_type: &str) -> Result<()> {
    let sets: Api<MachineSet> = world.api();
    let wanted = match instance_type {
        "m6i.large" | "m6g.large" | "m5.large" | "c7g.large" => "2",
        "m6i.xlarge" | "g5.xlarge" => "4",
        "m5.4xlarge" => "16",
        "p4d.24xlarge" => "96",
        other => anyhow::bail!("the test does not know {other}"),
    };
    let what = format!("{name} says what {instance_type} gives");
    world
        .eventually(&what, || async {
            let set = sets.get(name).await?;
            let seen = set.annotations().get(names::ANNOTATION_VCPU).map(String::as_str);
            ensure!(seen == Some(wanted), "vCPU is {seen:?}, not {wanted}");
            Ok(())
        })
        .await
}

/// Waits until an Event gives the reason why the set is not annotated.
pub(crate) async fn is_refused(world: &World, name: &str, reason: &str) -> Result<()> {
    let wanted = format!("{name} {reason}");
    world
        .eventually(&wanted, || async {
            let events = events(world).await?;
            ensure!(events.contains(&wanted), "there are {events:?}");
            Ok(())
        })
        .await
}

/// The sets, and which Events are there about their state. An Event that was written twice would be seen.
pub(crate) async fn end_state(world: &World) -> Result<Value> {
    let sets = world.state_of(&[ApiResource::erase::<MachineSet>(&())]).await?;
    Ok(json!({"machineSets": sets, "events": events(world).await?}))
}

async fn events(world: &World) -> Result<Vec<String>> {
    let mut events = world.events().await?;
    events.retain(|event| STATE.contains(&&*event.reason));
    Ok(events.iter().map(|event| format!("{} {}", event.about, event.reason)).collect())
}

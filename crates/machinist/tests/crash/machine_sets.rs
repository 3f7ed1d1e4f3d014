//! "Create, change and delete five MachineSets", as a user would, waiting after each step for the annotator to do its part.

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ApiResource, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::machine_set::MachineSet;
use machinist_api::names;
use machinist_testbed::crash::{Scenario, World};
use serde_json::{Value, json};

/// Name, first instance type, second one; `x9.mega` is unknown.
const SETS: [(&str, &str, &str); 5] = [
    ("a", "m6i.large", "m6i.xlarge"),
    ("b", "m6g.large", "c7g.large"),
    ("c", "p4d.24xlarge", "g5.xlarge"),
    ("d", "x9.mega", "m6i.large"),
    ("e", "m5.large", "m5.4xlarge"),
];

/// These have a finalizer: after their deletion they are still there, with what was written on them.
const HELD: [&str; 2] = ["d", "e"];

pub(crate) struct FiveMachineSets;

impl Scenario for FiveMachineSets {
    fn name(&self) -> &'static str {
        "five-machine-sets"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let sets: Api<MachineSet> = world.api();
        for (name, first, _) in SETS {
            sets.create(&PostParams::default(), &machine_set(name, first)?).await?;
        }
        for (name, first, _) in SETS {
            says(world, &sets, name, first).await?;
        }
        for (name, _, second) in SETS {
            let spec = json!({"spec": {"template": {"spec": {"providerSpec": {"value": {
                "instanceType": second,
            }}}}}});
            sets.patch(name, &PatchParams::default(), &Patch::Merge(&spec)).await?;
        }
        for (name, _, second) in SETS {
            says(world, &sets, name, second).await?;
        }
        for (name, ..) in SETS {
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

    /// The sets, and which Events are there about their state. An Event that was written twice would be seen. One that tells of a write is a
    /// by-product of it and may be lost with the process.
    async fn end_state(&self, world: &World) -> Result<Value> {
        let sets = world.state_of(&[ApiResource::erase::<MachineSet>(&())]).await?;
        let events: Api<Event> = world.api();
        let events = events.list(&ListParams::default()).await?;
        let state = ["FailedUpdate", "ReconcileError"];
        let mut events: Vec<_> = events
            .iter()
            .filter(|event| event.reason.as_deref().is_some_and(|reason| state.contains(&reason)))
            .map(|event| {
                let about = event.regarding.as_ref().and_then(|object| object.name.as_deref());
                let reason = event.reason.as_deref().unwrap_or_default();
                format!("{} {reason}", about.unwrap_or_default())
            })
            .collect();
        events.sort();
        Ok(json!({"machineSets": sets, "events": events}))
    }
}

fn machine_set(name: &str, instance_type: &str) -> Result<MachineSet> {
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
        "spec": {"template": {"spec": {"providerSpec": {"value": {
            "kind": "AWSMachineProviderConfig",
            "instanceType": instance_type,
        }}}}},
    }))?)
}

/// Waits until the set says what its type gives, or an Event says why not.
async fn says(
    world: &World,
    sets: &Api<MachineSet>,
    name: &str,
    instance_type: &str,
) -> Result<()> {
    let what = format!("{name} says what {instance_type} gives");
    world
        .eventually(&what, || async {
            let set = sets.get(name).await?;
            let seen = set.annotations().get(names::ANNOTATION_VCPU).map(String::as_str);
            let wanted = match instance_type {
                "m6i.large" | "m6g.large" | "m5.large" | "c7g.large" => "2",
                "m6i.xlarge" | "g5.xlarge" => "4",
                "m5.4xlarge" => "16",
                "p4d.24xlarge" => "96",
                _ => return refused(world, name).await,
            };
            ensure!(seen == Some(wanted), "vCPU is {seen:?}, not {wanted}");
            Ok(())
        })
        .await
}

async fn refused(world: &World, name: &str) -> Result<()> {
    let events: Api<Event> = world.api();
    let events = events.list(&ListParams::default()).await?;
    let refused = |event: &Event| {
        let about = event.regarding.as_ref().and_then(|object| object.name.as_deref());
        about == Some(name) && event.reason.as_deref() == Some("FailedUpdate")
    };
    ensure!(events.iter().any(refused), "no Event says why {name} is left");
    Ok(())
}

//! "Scale 0 → 5 → 2 → 0", as a user would, waiting after each step for exactly that many machines with instance and node.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::machine::Machine;
use machinist_api::machine_set::MachineSet;
use serde_json::{Value, json};

use crate::crash::{Scenario, World};
use crate::faults::{ApiRequest, Verb};

const SET: &str = "set";
/// On every Node of a machine: `namespace/name` of the machine.
const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";

/// One MachineSet on the simulated cloud: the harness must give every world one.
#[derive(Debug, Clone, Copy)]
pub struct Scaling;

impl Scenario for Scaling {
    fn name(&self) -> &'static str {
        "scaling"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let sets: Api<MachineSet> = world.api();
        sets.create(&PostParams::default(), &machine_set()?).await?;
        world.eventually("the set to be seen", || is_settled(world, 0)).await?;
        for size in [5, 2, 0] {
            let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
            sets.patch_scale(SET, &PatchParams::default(), &patch).await?;
            let what = format!("{size} machines, and nothing else");
            world.eventually(&what, || is_settled(world, size)).await?;
        }
        Ok(())
    }

    /// What is left, in Kubernetes and in the cloud, and what was ever made.
    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = &world.cloud.as_ref().context("a world with a cloud")?.sim;
        let mut objects = world.state_of(&kinds()).await?;
        strip(&mut objects);
        Ok(json!({
            "objects": objects,
            "nodes": nodes(world).await?.len(),
            "instances": cloud.live(),
            "volumes": cloud.volumes(),
            // A second instance for one machine would be a duplicate, even if it was removed again.
            "instancesEverMade": cloud.created(),
        }))
    }

    /// All machines are alike, and which ones go is decided by their uids; what is counted is the how-many-th.
    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.as_deref().unwrap_or_default();
        match (&*request.resource, name.split_once(' ')) {
            ("events", Some((about, reason))) => format!("{} {reason}", class(about)),
            ("machines", _) if request.verb == Verb::Patch => format!("machine {}", news(request)),
            _ => class(name).to_owned(),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match (&*request.resource, request.subresource.as_deref()) {
            // Once for what the user waits for in each step; how often on the way depends on who is faster.
            ("machinesets", Some("status")) => 4,
            // Five appear. Whether a reference is taken back before its machine is gone depends on who is faster.
            ("machines", Some("status")) if news(request) == NODE => 5,
            // Whether somebody looks between boot and Node.
            ("machines", _) if news(request) == STATE => 0,
            // One for several passes that follow each other closely.
            ("events", _)
                if request.name.as_deref().is_some_and(|name| name.ends_with("Scaled")) =>
            {
                1
            }
            _ => u32::MAX,
        }
    }
}

/// What is left of in the end, if anything is.
pub(super) fn kinds() -> [ApiResource; 2] {
    ["MachineSet", "Machine"].map(|kind| {
        let plural = format!("{}s", kind.to_lowercase());
        ApiResource {
            group: "machine.openshift.io".to_owned(),
            version: "v1beta1".to_owned(),
            api_version: "machine.openshift.io/v1beta1".to_owned(),
            kind: kind.to_owned(),
            plural,
        }
    })
}

/// The cloud's word for the state of an instance has changed, or what is waited for, and nothing else.
pub(super) const STATE: &str = "state";

/// The machine's Node, and nothing about the phase.
pub(super) const NODE: &str = "node";

/// What a patch of a machine says, in a word that all machines share.
pub(super) fn news(request: &ApiRequest) -> String {
    let body = request.json().unwrap_or_default();
    let status = &body["status"];
    let reason = |kind: &str| {
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let condition = conditions.find(|condition| condition["type"] == kind);
        condition.and_then(|condition| condition["reason"].as_str()).unwrap_or_default().to_owned()
    };
    if let Some(phase) = status["phase"].as_str() {
        phase.to_owned()
    } else if status.get("nodeRef").is_some() {
        NODE.to_owned()
    } else if !reason("Drained").is_empty() {
        format!("{} {}", reason("Drained"), reason("InstanceExists"))
    } else if body["spec"].get("providerID").is_some() {
        "provider id".to_owned()
    } else if body["metadata"].get("finalizers").is_some() {
        "finalizer".to_owned()
    } else {
        STATE.to_owned()
    }
}

fn class(name: &str) -> &'static str {
    match name {
        SET => "set",
        // Nodes and instances are called after their machines.
        _ if name.starts_with("set-") => "machine",
        _ => "other",
    }
}

fn machine_set() -> Result<MachineSet> {
    let labels = json!({
        "machine.openshift.io/cluster-api-machineset": SET,
        "machine.openshift.io/cluster-api-cluster": "test",
    });
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": SET},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "metadata": {"labels": {"tier": "gold"}},
                    "providerSpec": {"value": {
                        "apiVersion": "sim.machinist.dev/v1beta1",
                        "kind": "SimMachineProviderConfig",
                        "instanceType": "sim.small",
                        "zone": "a",
                        // Long enough for the machine to be Provisioned before its Node appears, in every run.
                        "bootSeconds": 30,
                        "dataVolumeGiB": 5,
                    }},
                },
            },
        },
    }))?)
}

/// Nodes of this world's machines: other worlds may be on the same API server.
async fn nodes(world: &World) -> Result<Vec<Node>> {
    let cloud = &world.cloud.as_ref().context("a world with a cloud")?.sim;
    let ours: Vec<_> = cloud.instances().into_iter().map(|instance| instance.id).collect();
    let nodes = Api::<Node>::all(world.client()).list(&ListParams::default()).await?.items;
    Ok(nodes.into_iter().filter(|node| ours.contains(&node.name_any())).collect())
}

async fn is_settled(world: &World, size: usize) -> Result<()> {
    let machines = Api::<Machine>::namespaced(world.client(), &world.namespace);
    let machines = machines.list(&ListParams::default()).await?.items;
    let nodes = nodes(world).await?;
    let cloud = &world.cloud.as_ref().context("a world with a cloud")?.sim;
    let phases: Vec<_> = machines
        .iter()
        .map(|one| one.status.as_ref().and_then(|status| status.phase.clone()))
        .collect();
    ensure!(machines.len() == size, "there are {} machines: {phases:?}", machines.len());
    ensure!(
        phases.iter().all(|phase| phase.as_deref() == Some("Running")),
        "phases are {phases:?}"
    );
    ensure!(
        machines.iter().all(|one| one.metadata.deletion_timestamp.is_none()),
        "one is on its way out"
    );
    ensure!(nodes.len() == size, "there are {} nodes", nodes.len());
    ensure!(nodes.iter().all(is_linked), "a node does not name its machine");
    ensure!(cloud.live() == size, "the cloud has {} instances", cloud.live());
    ensure!(cloud.volumes() == 2 * size, "the cloud has {} volumes", cloud.volumes());
    let sets: Api<MachineSet> = world.api();
    let status = sets.get(SET).await?.status.unwrap_or_default();
    let said = (status.replicas.unwrap_or(-1), status.ready_replicas.unwrap_or(0));
    let wanted = i32::try_from(size)?;
    ensure!(said == (wanted, wanted), "the set says {said:?}");
    Ok(())
}

pub(super) fn is_linked(node: &Node) -> bool {
    node.annotations().contains_key(MACHINE_OF_NODE) && node.labels().contains_key("tier")
}

/// Ordinals that a crash burned are gone for good, which is how they work; and times are times.
pub(super) fn strip(objects: &mut Value) {
    let Some(list) = objects.as_array_mut() else { return };
    for object in list {
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.remove("machinist.dev/ordinals");
        }
    }
}

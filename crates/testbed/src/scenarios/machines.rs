//! What every story of scaling has. What its instances are, and what else belongs to a machine, each story knows.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::machine::Machine;
use machinist_api::machine_set::MachineSet;
use serde_json::{Value, json};

use crate::World;
use crate::faults::{ApiRequest, Verb};

pub(super) const SET: &str = "set";
const SET_OF_MACHINE: &str = "machine.openshift.io/cluster-api-machineset";
/// Changed to make controllers look at an object; differs between runs.
pub(super) const TOUCH: &str = "looked";
/// The value is `namespace/name` of the machine.
const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";
/// From the template.
pub(super) const LABEL: &str = "tier";

/// The cloud's word for the state of an instance has changed, or what is waited for, and nothing else.
pub(super) const STATE: &str = "state";
/// The machine's Node, and nothing about the phase.
const NODE: &str = "node";
/// A drain moves pods, or waits for a budget: which of these is reported, and how often, depends on timing.
pub(super) const DRAINING: &str = "draining";
const MOVING: [&str; 5] =
    ["Evicting", "EvictionBlocked", "WaitingForPods", "WaitingForVolumes", "CannotRead"];

pub(super) async fn create_set(world: &World, cluster: &str, provider_spec: &Value) -> Result<()> {
    create_annotated_set(world, cluster, provider_spec, &json!({})).await
}

/// The Machines of the set get these annotations.
pub(super) async fn create_annotated_set(
    world: &World,
    cluster: &str,
    provider_spec: &Value,
    annotations: &Value,
) -> Result<()> {
    let labels = json!({
        SET_OF_MACHINE: SET,
        "machine.openshift.io/cluster-api-cluster": cluster,
    });
    let set: MachineSet = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": SET},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": {
                    "metadata": {"labels": {LABEL: "gold"}},
                    "providerSpec": {"value": provider_spec},
                },
            },
        },
    }))?;
    world.api::<MachineSet>().create(&PostParams::default(), &set).await?;
    Ok(())
}

/// As `kubectl scale` does.
pub(super) async fn scale_set(world: &World, size: usize) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
    world.api::<MachineSet>().patch_scale(SET, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Whether the selector of the set matches the Machine.
pub(super) async fn set_member(world: &World, machine: &str, member: bool) -> Result<()> {
    let value = if member { SET } else { "none" };
    world.patch_machine(machine, json!({"metadata": {"labels": {SET_OF_MACHINE: value}}})).await
}

/// The status of the set must agree, and each of its machines must know its owner, but no other one.
pub(super) async fn ensure_running(world: &World, members: usize, size: usize) -> Result<()> {
    let machines = world.api::<Machine>().list(&ListParams::default()).await?.items;
    let phases: Vec<_> = machines
        .iter()
        .map(|one| one.status.as_ref().and_then(|status| status.phase.clone()))
        .collect();
    ensure!(machines.len() == size, "there are {} machines: {phases:?}", machines.len());
    let run = phases.iter().all(|phase| phase.as_deref() == Some("Running"));
    ensure!(run, "phases are {phases:?}");
    let stay = machines.iter().all(|one| one.metadata.deletion_timestamp.is_none());
    ensure!(stay, "one is on its way out");
    let owned = machines.iter().filter(|one| !one.owner_references().is_empty()).count();
    ensure!(owned == members, "{owned} machines have an owner");
    let status = world.api::<MachineSet>().get(SET).await?.status.unwrap_or_default();
    let counts = (status.replicas.unwrap_or(-1), status.ready_replicas.unwrap_or(0));
    let wanted = i32::try_from(members)?;
    ensure!(counts == (wanted, wanted), "the set says {counts:?}");
    Ok(())
}

/// Each Node must name its machine.
pub(super) async fn ensure_linked(world: &World, instances: &[String], size: usize) -> Result<()> {
    let nodes = nodes(world, instances).await?;
    ensure!(nodes.len() == size, "there are {} nodes", nodes.len());
    let is_linked = |node: &Node| {
        node.annotations().contains_key(MACHINE_OF_NODE) && node.labels().contains_key(LABEL)
    };
    ensure!(nodes.iter().all(is_linked), "a node does not name its machine");
    Ok(())
}

/// Nodes are called like their instances. Those of other worlds may be on the same API server.
pub(super) async fn nodes(world: &World, instances: &[String]) -> Result<Vec<Node>> {
    let nodes = Api::<Node>::all(world.client.clone()).list(&ListParams::default()).await?.items;
    Ok(nodes.into_iter().filter(|node| instances.contains(&node.name_any())).collect())
}

pub(super) fn kind(kind: &str) -> ApiResource {
    ApiResource {
        group: "machine.openshift.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "machine.openshift.io/v1beta1".to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    }
}

pub(super) async fn objects(world: &World) -> Result<Value> {
    let kinds = ["MachineSet", "Machine"].map(kind);
    let mut objects = world.state_of(&kinds).await?;
    for object in objects.as_array_mut().into_iter().flatten() {
        // Ordinals that a crash burned are gone for good, which is how they work.
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.remove("machinist.dev/ordinals");
        }
    }
    Ok(objects)
}

/// All machines are alike, and which ones go is decided by their uids; what is counted is the how-many-th.
pub(super) fn label(request: &ApiRequest, news: &str) -> String {
    let name = request.name.as_deref().unwrap_or_default();
    match (&*request.resource, name.split_once(' ')) {
        ("events", Some((about, reason))) => format!("{} {reason}", class(about)),
        ("machines", _) if request.verb == Verb::Patch => format!("machine {news}"),
        _ => class(name).to_owned(),
    }
}

fn class(name: &str) -> &'static str {
    match name {
        "" => "",
        SET => "set",
        _ if name.starts_with(super::pods::ON) => "pod",
        // Nodes and instances are called after their machines, or Nodes like instances of EC2.
        _ if name.starts_with("set-") || name.starts_with("i-") => "machine",
        _ => "other",
    }
}

pub(super) fn at_least(request: &ApiRequest, news: &str, steps: u32, machines: u32) -> u32 {
    match (&*request.resource, request.subresource.as_deref()) {
        // Once for what the user waits for in each step; how often on the way depends on timing, as below.
        ("machinesets", Some("status")) => steps,
        // A reference may be taken back before its machine is gone.
        ("machines", Some("status")) if news == NODE => machines,
        // A reconcile may fall between boot and Node.
        ("machines", _) if news == STATE => 0,
        // A machine whose Node is there at once skips Provisioned. That all of them are so fast was never seen.
        ("machines", Some("status")) if news == "Provisioned" => 1,
        ("machines", Some("status")) if news == DRAINING => 0,
        // How often a deletion finds its instance still shutting down depends on timing.
        ("machines", Some("status")) if news.starts_with("Succeeded") => 2 * machines,
        // A refused eviction is repeated.
        ("pods", Some("eviction")) => machines,
        // What goes wrong is reported when it goes wrong.
        ("events", _) if is_warning(request) => 0,
        // One for several reconciles that follow each other closely.
        ("events", _) if request.name.as_deref().is_some_and(|name| name.ends_with("Scaled")) => 1,
        _ => u32::MAX,
    }
}

pub(super) fn is_warning(request: &ApiRequest) -> bool {
    request.json().is_some_and(|event| event["type"] == "Warning")
}

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
    } else if MOVING.contains(&&*reason("Drained")) {
        DRAINING.to_owned()
    } else if !reason("Drained").is_empty() {
        format!("{} {}", reason("Drained"), reason("InstanceExists"))
    } else if body["spec"].get("providerID").is_some() {
        "provider id".to_owned()
    } else if body["metadata"].get("finalizers").is_some() {
        "finalizer".to_owned()
    } else if body["metadata"].get("ownerReferences").is_some() {
        "owner".to_owned()
    } else {
        STATE.to_owned()
    }
}

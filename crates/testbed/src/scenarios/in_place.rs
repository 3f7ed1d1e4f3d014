//! "Create a MachineDeployment of 3, change what its machines run": an update in place, one machine at a time. The
//! story has the agent, too. An observer records that machines are neither created nor deleted. At the end the set is
//! orphaned and adopted again.

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use machinist_api::names::{
    ANNOTATION_HOLD, ANNOTATION_IN_PLACE_TARGET, IN_PLACE_READY, IN_PLACE_SUCCESSFUL,
    LABEL_IN_PLACE, LABEL_IN_PLACE_RESULT,
};
use serde_json::{Value, json};

use super::rolling::{self, OLD, WEB};
use super::{machines, scaling};
use crate::World;
use crate::crash::Scenario;
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::{condition, is_alive, phase};
use crate::world::{Extremes, Observer};

const SIZE: usize = 3;

/// An update of three machines in place.
#[derive(Debug, Clone, Copy)]
pub struct InPlace;

impl Scenario for InPlace {
    fn name(&self) -> &'static str {
        "in-place"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let spec = json!({
            "replicas": SIZE,
            "selector": {"matchLabels": {"app": WEB}},
            "strategy": {"type": "InPlaceUpdate"},
            "template": rolling::template("sim.small"),
        });
        world.create_machine_deployment(WEB, json!({}), spec).await?;
        settles(world, Value::Null).await?;
        world.milestone("1: machines run", || rolling::state(world)).await?;

        let observer = Observer::start(world).await?;
        let template = json!({"spec": {"providerSpec": {"value": {"image": "new"}}}});
        world.patch_deployment(WEB, json!({"spec": {"template": template}})).await?;
        settles(world, json!("new")).await?;
        let Extremes { most, fewest_ready, .. } = observer.stop(world).await?;
        ensure!((most, fewest_ready) == (SIZE, SIZE), "{most} machines, {fewest_ready} ready");
        world.milestone("2: all are updated", || rolling::state(world)).await?;

        orphan(world).await?;
        world.eventually("the set has its owner again", || is_claimed(world)).await?;
        settles(world, json!("new")).await?;
        world.milestone("3: the set is adopted", || rolling::state(world)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = scaling::cloud(world)?;
        Ok(json!({
            "objects": rolling::state(world).await?.state,
            "nodes": machines::nodes(world, &scaling::instances(cloud)).await?.len(),
            "instances": cloud.live(),
            // One for each machine.
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        match update(request) {
            Some(update) => update,
            None => rolling::label(request),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        if update(request).is_some() {
            return 1;
        }
        match &*request.resource {
            "machinesets" | "machinedeployments" => 1,
            // What creates a machine is tried in other scenarios.
            _ => 0,
        }
    }
}

/// What a write has to do with the update, if anything.
fn update(request: &ApiRequest) -> Option<String> {
    if request.verb != Verb::Patch {
        return None;
    }
    let body = request.json()?;
    let (labels, annotations) = (&body["metadata"]["labels"], &body["metadata"]["annotations"]);
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let has = |object: &Value, name: &str| object.get(name).is_some();
    match &*request.resource {
        "machinesets" if body["metadata"].get("ownerReferences").is_some() => {
            Some("claim".to_owned())
        }
        "machinesets" if has(annotations, ANNOTATION_HOLD) => {
            let hold = word(&annotations[ANNOTATION_HOLD]);
            let side = hold.split(' ').nth(1).unwrap_or_default().to_owned();
            let set = if request.name.as_deref() == Some(OLD) { "old" } else { "new" };
            Some(format!("hold of the {set} set: {side}"))
        }
        "machines"
            if body["metadata"].get("ownerReferences").is_some() && has(labels, LABEL_IN_PLACE) =>
        {
            Some("move".to_owned())
        }
        "machines" if has(labels, LABEL_IN_PLACE) => {
            Some(format!("machine is {}", word(&labels[LABEL_IN_PLACE])))
        }
        "machines" if has(labels, LABEL_IN_PLACE_RESULT) => Some("result".to_owned()),
        "nodes" if has(labels, LABEL_IN_PLACE) => {
            Some(format!("node is {}", word(&labels[LABEL_IN_PLACE])))
        }
        "nodes" if has(annotations, machinist_api::names::ANNOTATION_DRAIN) => {
            Some("cordon".to_owned())
        }
        "machines" if request.subresource.as_deref() == Some("status") => {
            let mut list = body["status"]["conditions"].as_array().into_iter().flatten();
            let found = list.find(|one| one["type"] == "InPlaceUpdate")?;
            let reason = word(&found["reason"]);
            (reason == "ReadyForUpdate").then(|| "machine is ready".to_owned())
        }
        _ => None,
    }
}

/// The set with all machines loses its owner while it is held, as by a deletion of the deployment with
/// `--cascade=orphan` in the middle of a move. The hold of another owner must not cost a machine.
async fn orphan(world: &World) -> Result<()> {
    let hold = format!("v1 out gone gone {OLD}");
    let metadata = json!({"annotations": {ANNOTATION_HOLD: hold}, "ownerReferences": null});
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let set = new_set(world).await?.name_any();
    world.sets().patch(&set, &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn new_set(world: &World) -> Result<DynamicObject> {
    let sets = world.sets().list(&ListParams::default()).await?;
    sets.into_iter().find(|set| set.name_any() != OLD).context("a set of the new template")
}

async fn is_claimed(world: &World) -> Result<()> {
    let set = new_set(world).await?;
    let hold = set.annotations().get(ANNOTATION_HOLD);
    let (owners, size) = (set.owner_references().len(), &set.data["spec"]["replicas"]);
    ensure!(owners == 1 && hold.is_some_and(|hold| hold == "v1 released"), "{:?}", set.metadata);
    ensure!(*size == json!(SIZE), "its size is {size}");
    Ok(())
}

/// Waits for the update, and does the part of the agent: what is offered is updated at once.
async fn settles(world: &World, image: Value) -> Result<()> {
    let what = format!("{SIZE} machines with image {image}, and nothing else");
    world
        .eventually(&what, || async {
            agent(world).await?;
            is_settled(world, &image).await
        })
        .await
}

async fn agent(world: &World) -> Result<()> {
    for node in machines::nodes(world, &scaling::instances(scaling::cloud(world)?)).await? {
        let offered =
            node.labels().get(LABEL_IN_PLACE).is_some_and(|state| state == IN_PLACE_READY);
        if offered && !node.labels().contains_key(LABEL_IN_PLACE_RESULT) {
            let patch =
                json!({"metadata": {"labels": {LABEL_IN_PLACE_RESULT: IN_PLACE_SUCCESSFUL}}});
            let (name, patch) = (node.name_any(), Patch::Merge(patch));
            world.nodes().patch(&name, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(())
}

async fn is_settled(world: &World, image: &Value) -> Result<()> {
    let web = world.deployments().get(WEB).await?;
    let status = &web.data["status"];
    let counts = ["replicas", "updatedReplicas", "availableReplicas"].map(|name| &status[name]);
    let complete = status["observedGeneration"].as_i64() == web.metadata.generation
        && counts.iter().all(|count| **count == json!(SIZE))
        && condition(&web, "Progressing") == "True/NewMachineSetAvailable";
    ensure!(complete, "{status}");
    let all = world.machines().list(&ListParams::default()).await?.items;
    let is_new = |machine: &DynamicObject| {
        let spec = &machine.data["spec"]["providerSpec"]["value"];
        let marked = machine.labels().contains_key(LABEL_IN_PLACE)
            || machine.annotations().contains_key(ANNOTATION_IN_PLACE_TARGET)
            || !condition(machine, "InPlaceUpdate").is_empty();
        spec["image"] == *image && !marked && phase(machine) == "Running" && is_alive(machine)
    };
    ensure!(all.len() == SIZE && all.iter().all(is_new), "{} machines", all.len());
    let cloud = scaling::cloud(world)?;
    let nodes = machines::nodes(world, &scaling::instances(cloud)).await?;
    let serves = |node: &Node| {
        let spec = node.spec.clone().unwrap_or_default();
        spec.unschedulable != Some(true) && !node.labels().contains_key(LABEL_IN_PLACE)
    };
    ensure!(nodes.len() == SIZE && nodes.iter().all(serves), "a node is out of service");
    machines::ensure_linked(world, &scaling::instances(cloud), SIZE).await?;
    ensure!(cloud.live() == SIZE, "the cloud has {} instances", cloud.live());
    Ok(())
}

//! "A MachineDeployment of two that keeps a failed machine; the instance of one dies; scale to 1, which takes the
//! other; end the preservation, scale to 0". What machines go through otherwise is tried in other scenarios.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use machinist_api::names::PRESERVE_AUTO;
use serde_json::{Value, json};

use super::rolling::{self, WEB};
use super::{machines, scaling};
use crate::World;
use crate::crash::{Milestone, Scenario, normalise};
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::{condition, node_of, phase, runs};

const SIZE: usize = 2;
const PRESERVE: &str = "machinist.dev/preserve";
const UNTIL: &str = "machinist.dev/preserved-until";
const TAINT: &str = "machinist.dev/preserved";
const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";

/// A failed machine that is kept for debugging.
#[derive(Debug, Clone, Copy)]
pub struct Preserving;

impl Scenario for Preserving {
    fn name(&self) -> &'static str {
        "preserving"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let spec = json!({
            "replicas": SIZE,
            "autoPreserveFailedMachineMax": 1,
            "selector": {"matchLabels": {"app": WEB}},
            "template": rolling::template("sim.small"),
        });
        world.create_machine_deployment(WEB, json!({}), spec).await?;
        world.eventually("two machines", || has(world, SIZE)).await?;

        let failed = fail_one(world).await?;
        world.eventually("it is kept", || is_kept(world, &failed, true)).await?;
        world.milestone("1: one is kept", || state(world)).await?;

        world.patch_deployment(WEB, json!({"spec": {"replicas": 1}})).await?;
        world.eventually("the other one goes", || is_alone(world, &failed)).await?;
        world.milestone("2: it is alone", || state(world)).await?;

        let done = json!({"metadata": {"annotations": {PRESERVE: "false"}}});
        world.patch_machine(&failed, done).await?;
        world.eventually("it is not kept any more", || is_kept(world, &failed, false)).await?;
        world.milestone("3: it is not kept", || state(world)).await?;

        world.patch_deployment(WEB, json!({"spec": {"replicas": 0}})).await?;
        world.eventually("none is left", || has(world, 0)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = scaling::cloud(world)?;
        Ok(json!({
            "objects": state(world).await?.state,
            "nodes": machines::nodes(world, &scaling::instances(cloud)).await?.len(),
            "instances": cloud.live(),
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        news(request).unwrap_or_else(|| rolling::label(request))
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        // Also of the one that is not kept.
        let tried = news(request).is_some()
            || (&*request.resource, request.verb) == ("machines", Verb::Delete);
        tried.into()
    }
}

/// What a patch has to do with the preservation, if anything.
fn news(request: &ApiRequest) -> Option<String> {
    let (resource, Verb::Patch) = (&*request.resource, request.verb) else { return None };
    let body = request.json()?;
    let (annotations, status) = (&body["metadata"]["annotations"], &body["status"]);
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let change = |value: &Value, removed: &str, set: &str| {
        Some(if value.is_null() { removed } else { set }.to_owned())
    };
    if let ("machines", Some(until)) = (resource, annotations.get(UNTIL)) {
        change(until, "preservation ends", "preservation begins")
    } else if let ("machines", Some(_)) = (resource, annotations.get(PRESERVE)) {
        Some("preservation requested".to_owned())
    } else if let ("nodes", Some(disabled)) = (resource, annotations.get(SCALE_DOWN_DISABLED)) {
        change(disabled, "node released", "node kept")
    } else {
        let preserved = conditions.any(|one| one["type"] == "Preserved");
        let preserved = resource == "machines" && preserved && status["phase"].is_null();
        preserved.then(|| "preserved".to_owned())
    }
}

/// So many machines run, and the deployment is complete.
async fn has(world: &World, size: usize) -> Result<()> {
    let web = world.deployments().get(WEB).await?;
    let status = &web.data["status"];
    let names = ["replicas", "updatedReplicas", "availableReplicas"];
    let complete = status["observedGeneration"].as_i64() == web.metadata.generation
        && names.iter().all(|name| status[*name] == json!(size))
        && condition(&web, "Progressing") == "True/NewMachineSetAvailable";
    ensure!(complete, "{status}");
    let all = world.all_machines().await?;
    ensure!(all.len() == size && all.iter().all(runs), "there are {} machines", all.len());
    let cloud = scaling::cloud(world)?;
    machines::ensure_linked(world, &scaling::instances(cloud), size).await?;
    ensure!(cloud.live() == size, "the cloud has {} instances", cloud.live());
    Ok(())
}

/// As if its host died.
async fn fail_one(world: &World) -> Result<String> {
    let all = world.all_machines().await?;
    let machine = all.first().context("a machine")?;
    let uid = machine.uid().context("a uid")?;
    let cloud = scaling::cloud(world)?;
    let instance = cloud.of_machine(&uid).into_iter().next().context("an instance")?;
    ensure!(cloud.kill(&instance.id), "it is gone");
    Ok(machine.name_any())
}

/// Whether all that belongs to a preservation is there, or nothing of it.
async fn is_kept(world: &World, name: &str, kept: bool) -> Result<()> {
    let machine = world.machines().get(name).await?;
    ensure!(phase(&machine) == "Failed", "its phase is {}", phase(&machine));
    let wanted = if kept { "True/Succeeded" } else { "" };
    let found = condition(&machine, "Preserved");
    ensure!(found.trim_matches('/') == wanted, "Preserved is {found}");
    let annotations = machine.annotations();
    let requested = annotations.get(PRESERVE).is_some_and(|request| request == PRESERVE_AUTO);
    let stored = (requested, annotations.contains_key(UNTIL));
    ensure!(stored == (kept, kept), "{annotations:?}");
    let node = world.nodes().get(node_of(&machine)).await?;
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let tainted = taints.filter(|taint| taint.key == TAINT).count() == 1;
    let held = node.annotations().contains_key(SCALE_DOWN_DISABLED);
    ensure!((tainted, held) == (kept, kept), "on its Node: taint {tainted}, annotation {held}");
    Ok(())
}

async fn is_alone(world: &World, failed: &str) -> Result<()> {
    let all = world.all_machines().await?;
    let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
    ensure!(names == [failed] && !runs(&all[0]), "there are {names:?}");
    is_kept(world, failed, true).await
}

/// The set and the deployment name machines and instances in their conditions.
async fn state(world: &World) -> Result<Milestone> {
    let mut milestone = rolling::state(world).await?;
    let instances = scaling::instances(scaling::cloud(world)?).into_iter();
    let mut names: Vec<_> = instances.map(|id| (id, "<instance>".to_owned())).collect();
    let machines = world.all_machines().await?.into_iter();
    names.extend(machines.map(|machine| (machine.name_any(), "<machine>".to_owned())));
    // The longest first: instances are called after their machines.
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for kind in ["sets", "deployments"] {
        let objects = milestone.state[kind].as_array().into_iter().flatten();
        milestone.state[kind] = objects.map(|one| normalise::one(one, &names)).collect();
    }
    Ok(milestone)
}

//! "Two machines that are kept when they fail; the instance of one dies; scale to 1, which takes the other; end the
//! preservation, scale to 0". What machines go through otherwise is tried in other scenarios.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{family, machines, scaling};
use crate::World;
use crate::crash::{Milestone, Scenario, normalise};
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::{condition, node_of, phase, runs};

const SIZE: usize = 2;
const PRESERVE: &str = "machinist.dev/preserve";
const UNTIL: &str = "machinist.dev/preserved-until";
const TAINT: &str = "machinist.dev/preserved";
const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// A write that other scenarios try.
const OTHER: &str = "other";

/// A failed machine that is kept for debugging.
#[derive(Debug, Clone, Copy)]
pub struct Preserving;

impl Scenario for Preserving {
    fn name(&self) -> &'static str {
        "preserving"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let annotations = json!({PRESERVE: "when-failed"});
        machines::create_annotated_set(world, "test", &provider_spec(), &annotations).await?;
        machines::scale_set(world, SIZE).await?;
        world.eventually("two machines", || machines::ensure_running(world, SIZE, SIZE)).await?;

        let failed = fail_one(world).await?;
        world.eventually("it is kept", || is_kept(world, &failed, true)).await?;
        world.milestone("1: one is kept", || state(world)).await?;

        machines::scale_set(world, 1).await?;
        world.eventually("the other one goes", || is_alone(world, &failed)).await?;
        world.milestone("2: it is alone", || state(world)).await?;

        let done = json!({"metadata": {"annotations": {PRESERVE: "false"}}});
        world.patch_machine(&failed, done).await?;
        world.eventually("it is not kept any more", || is_kept(world, &failed, false)).await?;
        world.milestone("3: it is not kept", || state(world)).await?;

        machines::scale_set(world, 0).await?;
        world.eventually("none is left", || machines::ensure_running(world, 0, 0)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = scaling::cloud(world)?;
        Ok(json!({
            "objects": machines::objects(world).await?,
            "nodes": machines::nodes(world, &scaling::instances(cloud)).await?.len(),
            "instances": cloud.live(),
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        machines::label(request, &news(request))
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match (&*request.resource, request.verb) {
            ("machines" | "nodes", Verb::Patch) if news(request) != OTHER => 1,
            // Of the one that is not kept.
            ("machines", Verb::Delete) => 1,
            _ => 0,
        }
    }
}

/// What a patch has to do with the preservation.
fn news(request: &ApiRequest) -> String {
    let body = request.json().unwrap_or_default();
    let conditions = body["status"]["conditions"].as_array();
    let annotations = &body["metadata"]["annotations"];
    let preserved = conditions.map(|list| list.iter().any(|one| one["type"] == "Preserved"));
    if let Some(until) = annotations.get(UNTIL) {
        if until.is_null() { "preservation ends" } else { "preservation begins" }.to_owned()
    } else if let Some(disabled) = annotations.get(SCALE_DOWN_DISABLED) {
        if disabled.is_null() { "node released" } else { "node kept" }.to_owned()
    } else if preserved == Some(true) && body["status"]["phase"].is_null() {
        "preserved".to_owned()
    } else {
        OTHER.to_owned()
    }
}

fn provider_spec() -> Value {
    json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "zone": "a",
        "bootSeconds": 30,
    })
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
    ensure!(machine.annotations().contains_key(UNTIL) == kept, "{:?}", machine.annotations());
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

/// The set names its machines and instances in its conditions.
async fn state(world: &World) -> Result<Milestone> {
    let mut milestone = family::milestone(world, scaling::bodies(world)?).await?;
    let instances = scaling::instances(scaling::cloud(world)?).into_iter();
    let mut names: Vec<_> = instances.map(|id| (id, "<instance>".to_owned())).collect();
    let machines = world.all_machines().await?.into_iter();
    names.extend(machines.map(|machine| (machine.name_any(), "<machine>".to_owned())));
    // The longest first: instances are called after their machines.
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let sets = milestone.state["sets"].as_array().into_iter().flatten();
    milestone.state["sets"] = sets.map(|set| normalise::one(set, &names)).collect();
    Ok(milestone)
}

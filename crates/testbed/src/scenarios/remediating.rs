//! "Five machines with a health check; the kubelets of two report that they are not ready; both are replaced, and no
//! other; scale to 0". What machines go through otherwise is tried in other scenarios.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{family, machines, scaling};
use crate::World;
use crate::crash::{Milestone, Scenario};
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::node_of;

const SIZE: usize = 5;
const BAD: usize = 2;
const CHECK: &str = "check";
/// A write that other scenarios try.
const OTHER: &str = "other";

/// Two of five nodes go bad.
#[derive(Debug, Clone, Copy)]
pub struct Remediating;

impl Scenario for Remediating {
    fn name(&self) -> &'static str {
        "remediating"
    }

    async fn run(&self, world: &World) -> Result<()> {
        machines::create_set(world, "test", &provider_spec()).await?;
        machines::scale_set(world, SIZE).await?;
        world.eventually("five machines", || machines::ensure_running(world, SIZE, SIZE)).await?;
        let spec = json!({
            "selector": {},
            "maxUnhealthy": "40%",
            "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "1s"}],
        });
        world.create_health_check(CHECK, json!({}), spec).await?;
        world.eventually("all are healthy", || counts(world)).await?;

        let mut bad = Vec::new();
        for machine in world.all_machines().await?.iter().take(BAD) {
            break_node(world, node_of(machine)).await?;
            bad.push(machine.uid().context("a uid")?);
        }
        let replaced = || async {
            let all = world.all_machines().await?;
            let left = all.iter().filter(|one| one.uid().is_some_and(|uid| bad.contains(&uid)));
            ensure!(left.count() == 0, "a bad one is left");
            machines::ensure_running(world, SIZE, SIZE).await?;
            counts(world).await
        };
        world.eventually("two are replaced", replaced).await?;
        world.milestone("1: two are replaced", || state(world)).await?;

        world.health_checks().delete(CHECK, &DeleteParams::default()).await?;
        machines::scale_set(world, 0).await?;
        world.eventually("none is left", || machines::ensure_running(world, 0, 0)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = scaling::cloud(world)?;
        Ok(json!({
            "objects": machines::objects(world).await?,
            "nodes": machines::nodes(world, &scaling::instances(cloud)).await?.len(),
            "instances": cloud.live(),
            // No healthy machine was replaced.
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        match &*request.resource {
            "machinehealthchecks" => "status".to_owned(),
            _ => machines::label(request, OTHER),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match (&*request.resource, request.verb) {
            // The status without unhealthy Machines, and with them.
            ("machinehealthchecks", Verb::Patch) | ("machines", Verb::Delete) => 2,
            _ => 0,
        }
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

async fn break_node(world: &World, node: &str) -> Result<()> {
    let now = jiff::Timestamp::now().round(jiff::Unit::Second)?.to_string();
    let condition = json!({"type": "Ready", "status": "False", "lastTransitionTime": now});
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    world.nodes().patch_status(node, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// The status agrees: all are there and healthy.
async fn counts(world: &World) -> Result<()> {
    let check = world.health_checks().get(CHECK).await?;
    let status = &check.data["status"];
    let counts = [&status["expectedMachines"], &status["currentHealthy"]];
    ensure!(counts == [SIZE, SIZE], "{status}");
    Ok(())
}

async fn state(world: &World) -> Result<Milestone> {
    family::milestone(world, scaling::bodies(world)?).await
}

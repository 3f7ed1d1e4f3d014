//! "A machine runs; freeze, scale to 3, end the freeze; freeze, scale to 0, end the freeze". What machines go through
//! otherwise is tried in other scenarios.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use machinist_api::names::{CONDITION_FROZEN, FREEZE_CONFIG_MAP};
use serde_json::{Value, json};

use super::{machines, scaling};
use crate::World;
use crate::crash::Scenario;
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::condition;

/// Freezes in the middle of scaling, by the ConfigMap in the namespace of the Leases, which is the one of the world.
#[derive(Debug, Clone, Copy)]
pub struct Freezing;

impl Scenario for Freezing {
    fn name(&self) -> &'static str {
        "freezing"
    }

    async fn run(&self, world: &World) -> Result<()> {
        machines::create_set(world, "test", &provider_spec()).await?;
        let mut running = 1;
        machines::scale_set(world, running).await?;
        for size in [3, 0] {
            let settled = || machines::ensure_running(world, running, running);
            world.eventually("all machines to run", settled).await?;
            let created = scaling::cloud(world)?.created();
            freeze(world).await?;
            world.eventually("the freeze to be shown", || is_shown(world, true)).await?;
            machines::scale_set(world, size).await?;
            machines::ensure_running(world, running, running).await?;
            ensure!(scaling::cloud(world)?.created() == created, "an instance was created");
            thaw(world).await?;
            world.eventually("the freeze to end", || is_shown(world, false)).await?;
            running = size;
        }
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
        let label = machines::label(request, "other");
        if is_freeze(request) { format!("{label} frozen") } else { label }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match (&*request.resource, request.verb) {
            ("machinesets", Verb::Patch) if is_freeze(request) => 2,
            ("machines", Verb::Create | Verb::Delete) => 1,
            _ => 0,
        }
    }
}

/// Whether it stores the condition `Frozen`.
fn is_freeze(request: &ApiRequest) -> bool {
    let body = request.json().unwrap_or_default();
    let mut conditions = body["status"]["conditions"].as_array().into_iter().flatten();
    request.resource == "machinesets" && conditions.any(|one| one["type"] == CONDITION_FROZEN)
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

fn switches(world: &World) -> Api<ConfigMap> {
    Api::namespaced(world.client.clone(), &world.namespace)
}

async fn freeze(world: &World) -> Result<()> {
    let object = json!({"metadata": {"name": FREEZE_CONFIG_MAP}, "data": {"reason": "a test"}});
    switches(world).create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

async fn thaw(world: &World) -> Result<()> {
    switches(world).delete(FREEZE_CONFIG_MAP, &DeleteParams::default()).await?;
    Ok(())
}

async fn is_shown(world: &World, shown: bool) -> Result<()> {
    let set = world.sets().get(machines::SET).await?;
    let found = condition(&set, CONDITION_FROZEN);
    ensure!((found == "True/Requested") == shown, "Frozen is {found:?}");
    Ok(())
}

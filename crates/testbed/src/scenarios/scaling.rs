//! "Scale 0 → 5 → 2 → 0", waiting after each step for exactly that many machines with instance and Node.

use anyhow::{Context, Result, ensure};
use machinist_provider_sim::server::SimCloud;
use serde_json::{Value, json};

use super::machines;
use crate::World;
use crate::crash::Scenario;
use crate::faults::ApiRequest;

const SIZES: [usize; 4] = [0, 5, 2, 0];

#[derive(Debug, Clone, Copy)]
pub struct Scaling;

impl Scenario for Scaling {
    fn name(&self) -> &'static str {
        "scaling"
    }

    async fn run(&self, world: &World) -> Result<()> {
        machines::create_set(world, "test", &provider_spec()).await?;
        for size in SIZES {
            machines::scale_set(world, size).await?;
            let what = format!("{size} machines, and nothing else");
            world.eventually(&what, || is_settled(world, size)).await?;
        }
        Ok(())
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = cloud(world)?;
        Ok(json!({
            "objects": machines::objects(world).await?,
            "nodes": machines::nodes(world, &instances(cloud)).await?.len(),
            "instances": cloud.live(),
            "volumes": cloud.volumes(),
            // A second instance for one machine would be a duplicate, even if it was removed again.
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        machines::label(request, &machines::news(request))
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        machines::at_least(request, &machines::news(request), 4, 5)
    }
}

fn cloud(world: &World) -> Result<&SimCloud> {
    Ok(&world.cloud.as_ref().context("a world with a cloud")?.sim)
}

fn instances(cloud: &SimCloud) -> Vec<String> {
    cloud.instances().into_iter().map(|instance| instance.id).collect()
}

fn provider_spec() -> Value {
    json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "zone": "a",
        // Long enough for the machine to be Provisioned before its Node appears, in every run.
        "bootSeconds": 30,
        "dataVolumeGiB": 5,
    })
}

async fn is_settled(world: &World, size: usize) -> Result<()> {
    machines::ensure_running(world, size).await?;
    let cloud = cloud(world)?;
    machines::ensure_linked(world, &instances(cloud), size).await?;
    ensure!(cloud.live() == size, "the cloud has {} instances", cloud.live());
    ensure!(cloud.volumes() == 2 * size, "the cloud has {} volumes", cloud.volumes());
    Ok(())
}

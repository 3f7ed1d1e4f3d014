//! "Scale 0 → 3, release one, adopt it again and scale to 2, scale to 0", with a pod under a disruption budget on each
//! Node. After each step everything is compared.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_api::machine::Machine;
use machinist_api::names::TAG_MACHINE_UID;
use machinist_provider_sim::server::{Modes, SimCloud};
use machinist_provider_sim::wire::{Instance, State};
use serde_json::{Value, json};

use super::family::{self, Body};
use super::{machines, pods};
use crate::World;
use crate::crash::{Milestone, Scenario};
use crate::faults::{ApiRequest, Verb};

/// Of the set, before a machine is released.
const LARGE: usize = 3;
const SMALL: usize = 2;
/// A released machine is replaced.
const EVER: u32 = 4;

/// How the cloud is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    Kind,
    /// It hides new instances for a while, answers creations late, and throttles.
    Unkind,
}

impl Scenario for Scaling {
    fn name(&self) -> &'static str {
        match self {
            Self::Kind => "scaling",
            Self::Unkind => "scaling-unkind",
        }
    }

    fn prepare(&self, world: &World) {
        if let (Self::Unkind, Some(cloud)) = (self, &world.cloud) {
            cloud.sim.set_modes(Modes {
                hidden_millis: 5_000,
                create_answer_delay_millis: 2_000,
                // A second is one of the cloud's, which has many in one of ours.
                calls_per_second: Some(3),
                ..Modes::default()
            });
        }
    }

    async fn run(&self, world: &World) -> Result<()> {
        machines::create_set(world, "test", &provider_spec()).await?;
        settles(world, 0, 0).await?;
        machines::scale_set(world, LARGE).await?;
        settles(world, LARGE, LARGE).await?;
        world.milestone("1: machines run", || state(world)).await?;

        let released = release_one(world).await?;
        settles(world, LARGE, LARGE + 1).await?;
        world.milestone("2: one is released", || state(world)).await?;

        pods::occupy(world, &running(cloud(world)?)).await?;
        machines::set_member(world, &released, true).await?;
        machines::scale_set(world, SMALL).await?;
        settles_with_pods(world, SMALL).await?;
        world.milestone("3: two are left", || state(world)).await?;

        machines::scale_set(world, 0).await?;
        settles_with_pods(world, 0).await?;
        world.milestone("4: none is left", || state(world)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = cloud(world)?;
        Ok(json!({
            "objects": machines::objects(world).await?,
            "nodes": machines::nodes(world, &instances(cloud)).await?.len(),
            "pods": pods::names(world).await?,
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
        match (&*request.group, request.verb) {
            // A cloud that throttles is asked again.
            ("sim", Verb::Create | Verb::Delete) => EVER,
            _ => machines::at_least(request, &machines::news(request), 4, EVER),
        }
    }
}

pub(super) fn cloud(world: &World) -> Result<&SimCloud> {
    Ok(&world.cloud.as_ref().context("a world with a cloud")?.sim)
}

pub(super) fn instances(cloud: &SimCloud) -> Vec<String> {
    cloud.instances().into_iter().map(|instance| instance.id).collect()
}

fn running(cloud: &SimCloud) -> Vec<String> {
    let running = cloud.instances().into_iter().filter(|one| one.state == State::Running);
    running.map(|instance| instance.id).collect()
}

/// Everything, with the machines that are there.
async fn state(world: &World) -> Result<Milestone> {
    family::milestone(world, bodies(world)?).await
}

pub(super) fn bodies(world: &World) -> Result<Vec<Body>> {
    cloud(world)?.instances().into_iter().map(body).collect()
}

fn body(instance: Instance) -> Result<Body> {
    Ok(Body {
        uid: instance.tags.get(TAG_MACHINE_UID).cloned().unwrap_or_default(),
        id: instance.id.clone(),
        machine: instance.name.clone(),
        names: vec![
            (instance.address.clone(), "<address>".to_owned()),
            (instance.token.clone(), "<token>".to_owned()),
        ],
        facts: serde_json::to_value(instance)?,
    })
}

fn provider_spec() -> Value {
    json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "zone": "a",
        // Long enough for the machine to be Provisioned before its Node appears, in every run.
        "bootSeconds": 30,
        "stopSeconds": 10,
        "dataVolumeGiB": 5,
    })
}

/// A Machine that the selector of the set does not match any more is not the set's.
async fn release_one(world: &World) -> Result<String> {
    let all = world.api::<Machine>().list(&ListParams::default()).await?.items;
    let name = all.first().context("a machine")?.name_any();
    machines::set_member(world, &name, false).await?;
    Ok(name)
}

async fn settles(world: &World, members: usize, machines: usize) -> Result<()> {
    let what = format!("{machines} machines, {members} of the set, and nothing else");
    world.eventually(&what, || is_settled(world, members, machines)).await
}

async fn settles_with_pods(world: &World, size: usize) -> Result<()> {
    let what = format!("{size} machines with pods, and nothing else");
    let check = || async {
        pods::allow(world).await?;
        is_settled(world, size, size).await?;
        let pods = pods::names(world).await?;
        ensure!(pods.len() == size, "there are pods {pods:?}");
        Ok(())
    };
    world.eventually(&what, check).await
}

async fn is_settled(world: &World, members: usize, machines: usize) -> Result<()> {
    machines::ensure_running(world, members, machines).await?;
    let cloud = cloud(world)?;
    machines::ensure_linked(world, &instances(cloud), machines).await?;
    ensure!(cloud.live() == machines, "the cloud has {} instances", cloud.live());
    ensure!(cloud.volumes() == 2 * machines, "the cloud has {} volumes", cloud.volumes());
    Ok(())
}

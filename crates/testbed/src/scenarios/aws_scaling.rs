//! "Scale 0 → 3 → 0" on AWS. Once the fault has struck, the filters for image and subnet mean something else.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use machinist_api::machine::Machine;
use serde_json::{Value, json};

use super::family::{self, Body};
use super::machines;
use crate::World;
use crate::aws::estate::InstanceFacts;
use crate::aws::{Behaviour, Effect, Estate, Rule};
use crate::crash::{Milestone, Scenario};
use crate::faults::ApiRequest;
use crate::world::WorldAws;

const SIZE: u32 = 3;
const UID: &str = "machinist.dev/machine-uid";
const TEAM: &str = "team";

/// The subject must call the cluster like the namespace.
#[derive(Debug, Clone, Copy)]
pub struct AwsScaling;

impl Scenario for AwsScaling {
    fn name(&self) -> &'static str {
        "aws-scaling"
    }

    /// EC2 as it is: eventually consistent, slow, and throttling.
    fn prepare(&self, world: &World) {
        let Some(aws) = &world.aws else { return };
        let front = aws.bed.front();
        front.behave(Behaviour::unkind());
        for (action, nth) in
            [("RunInstances", 2), ("DescribeInstances", 4), ("TerminateInstances", 1)]
        {
            front.inject(Rule::nth(action, nth, Effect::Throttle));
        }
    }

    async fn run(&self, world: &World) -> Result<()> {
        let estate = &aws(world)?.estate;
        machines::create_set(world, estate.name(), &provider_spec(estate)).await?;
        scale(world, 0).await?;
        scale(world, usize::try_from(SIZE)?).await?;
        lose_a_tag(world).await?;
        world.milestone("three machines", || state(world)).await?;
        scale(world, 0).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let WorldAws { estate, balancers, .. } = aws(world)?;
        let instances = estate.instances().await?;
        Ok(json!({
            "objects": machines::objects(world).await?,
            "nodes": machines::nodes(world, &ids(&instances)).await?.len(),
            "instances": instances.iter().filter(|one| one.exists()).count(),
            "volumes": estate.volumes().await?.len(),
            "hosts": estate.hosts().await?.len(),
            "registered": estate.registered(balancers).await?,
            // A second instance for one machine would be a duplicate, even if it was removed again.
            "instancesEverMade": instances.len(),
            "mostForOneMachine": most_for_one(&instances),
        }))
    }

    async fn meanwhile(&self, world: &World) -> Result<()> {
        aws(world)?.estate.shift().await
    }

    fn label(&self, request: &ApiRequest) -> String {
        machines::label(request, &news(request))
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match &*request.resource {
            // One tag is lost.
            "CreateTags" => 1,
            // Two groups of targets for each machine.
            "RegisterTargets" | "DeregisterTargets" => 2 * SIZE,
            _ if request.is_query_call() => SIZE,
            _ => machines::at_least(request, &news(request), 3, SIZE),
        }
    }
}

fn aws(world: &World) -> Result<&WorldAws> {
    world.aws.as_ref().context("a world with AWS")
}

fn news(request: &ApiRequest) -> String {
    let body = request.json().unwrap_or_default();
    let status = &body["status"]["providerStatus"];
    match machines::news(request) {
        word if word != machines::STATE => word,
        _ if !status["launch"].is_null() => "launch".to_owned(),
        _ if !status["dedicatedHost"].is_null() => "host".to_owned(),
        word => word,
    }
}

fn provider_spec(estate: &Estate) -> Value {
    let own_host = json!({
        "affinity": "DedicatedHost",
        "dedicatedHost": {"allocationStrategy": "Dynamic"},
    });
    estate.spec(&json!({
        "placement": {"region": estate.region(), "tenancy": "host", "host": own_host},
        "loadBalancers": estate.balanced(),
    }))
}

async fn scale(world: &World, size: usize) -> Result<()> {
    machines::scale_set(world, size).await?;
    let what = format!("{size} machines, and nothing else");
    world.eventually(&what, || is_settled(world, size)).await
}

/// A machine that is reconciled gets it back.
async fn lose_a_tag(world: &World) -> Result<()> {
    let estate = &aws(world)?.estate;
    let victim = estate.live().await?.pop().context("an instance")?;
    estate.untag(&victim.id, TEAM).await?;
    let machines = world.api::<Machine>();
    let all = machines.list(&ListParams::default()).await?;
    let owner = all.iter().find(|one| one.uid().as_ref() == victim.tags.get(UID));
    let owner = owner.context("an instance of no machine")?.name_any();
    let mut looks = 0;
    world
        .eventually("the tag to come back", || {
            looks += 1;
            let touch = json!({"metadata": {"annotations": {machines::TOUCH: looks.to_string()}}});
            let (machines, owner) = (&machines, &owner);
            async move {
                machines.patch(owner, &PatchParams::default(), &Patch::Merge(&touch)).await?;
                let live = estate.live().await?;
                ensure!(live.iter().all(|one| one.tags.contains_key(TEAM)), "it is not there");
                Ok(())
            }
        })
        .await
}

/// Everything, with the machines that are there.
async fn state(world: &World) -> Result<Milestone> {
    let instances = aws(world)?.estate.instances().await?;
    let mut milestone = family::milestone(world, instances.into_iter().map(body).collect()).await?;
    milestone.state = without_ids(&milestone.state);
    Ok(milestone)
}

/// Stored with a launch: whether the filters find more than one subnet, which they do while the fault changes them.
const OF_FILTERS: [&str; 2] = ["elsewhere", "otherSubnets"];

/// Each world has a network, groups and hosts of its own, and a spec that names it, of which a hash is stored.
fn without_ids(value: &Value) -> Value {
    match value {
        Value::String(text) => kind_of_id(text).unwrap_or(text).into(),
        Value::Array(items) => items.iter().map(without_ids).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !OF_FILTERS.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), without_ids(value))).collect()
        }
        other => other.clone(),
    }
}

fn kind_of_id(text: &str) -> Option<&'static str> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if text.len() == 16 && is_hex(text) {
        return Some("<hash>");
    }
    let (kind, digits) = text.split_once('-')?;
    let known = [
        ("ami", "<image>"),
        ("h", "<host>"),
        ("sg", "<security group>"),
        ("subnet", "<subnet>"),
        ("vol", "<volume>"),
        ("vpc", "<network>"),
    ];
    let is_id = digits.len() >= 8 && is_hex(digits);
    known.into_iter().find(|(prefix, _)| is_id && *prefix == kind).map(|(_, instead)| instead)
}

/// Image, subnet and zone change when the fault strikes: which of the two a machine has depends on when it was made.
fn body(instance: InstanceFacts) -> Body {
    let InstanceFacts { id, state, zone, image, subnet, address, mut tags } = instance;
    let uid = tags.get(UID).cloned().unwrap_or_default();
    let machine = tags.get("Name").cloned().unwrap_or_default();
    // Which machine is touched until its tag comes back depends on the run.
    tags.remove(TEAM);
    let facts = json!({"id": id, "state": state, "zone": zone, "address": address, "tags": tags});
    let names = [
        (address.replace('.', "-"), "<address>"),
        (address, "<address>"),
        (zone, "<zone>"),
        (image, "<image>"),
        (subnet, "<subnet>"),
    ];
    let names = names.into_iter().map(|(name, instead)| (name, instead.to_owned())).collect();
    Body { uid, id, machine, names, facts }
}

fn ids(instances: &[InstanceFacts]) -> Vec<String> {
    instances.iter().map(|one| one.id.clone()).collect()
}

fn most_for_one(instances: &[InstanceFacts]) -> usize {
    let mut counts = BTreeMap::<_, usize>::new();
    for instance in instances {
        *counts.entry(instance.tags.get(UID)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default()
}

async fn is_settled(world: &World, size: usize) -> Result<()> {
    machines::ensure_running(world, size, size).await?;
    let WorldAws { estate, balancers, .. } = aws(world)?;
    let live = estate.live().await?;
    machines::ensure_linked(world, &ids(&live), size).await?;
    let left = [live.len(), estate.volumes().await?.len(), estate.hosts().await?.len()];
    ensure!(left == [size; 3], "instances, volumes and hosts are {left:?}");
    let registered = estate.registered(balancers).await?;
    ensure!(registered.iter().all(|ids| ids.len() == size), "registered are {registered:?}");
    Ok(())
}

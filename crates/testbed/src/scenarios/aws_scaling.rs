//! "Scale 0 → 3 → 0" on AWS, with dedicated hosts, load balancers and a tag that somebody removes on the way. Once the fault has struck, the
//! filters for image and subnet mean something else than before.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::machine::Machine;
use machinist_api::machine_set::MachineSet;
use serde_json::{Value, json};

use super::scaling::{NODE, STATE, is_linked, kinds, news, strip};
use crate::aws::estate::InstanceFacts;
use crate::crash::{Scenario, World, WorldAws};
use crate::faults::{ApiRequest, Verb};

const SET: &str = "set";
const SIZE: u32 = 3;
/// Whose an instance is.
const UID: &str = "machinist.dev/machine-uid";
/// A tag of the spec.
const TEAM: &str = "team";

/// One MachineSet on AWS: the harness must give every world one, and the subject must call the cluster like the namespace.
#[derive(Debug, Clone, Copy)]
pub struct AwsScaling;

impl Scenario for AwsScaling {
    fn name(&self) -> &'static str {
        "aws-scaling"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let sets: Api<MachineSet> = world.api();
        sets.create(&PostParams::default(), &machine_set(aws(world)?)?).await?;
        world.eventually("the set to be seen", || is_settled(world, 0)).await?;
        scale(world, SIZE).await?;
        lose_a_tag(world).await?;
        scale(world, 0).await
    }

    /// What is left, in Kubernetes and in AWS, and what was ever made.
    async fn end_state(&self, world: &World) -> Result<Value> {
        let aws = aws(world)?;
        let mut objects = world.state_of(&kinds()).await?;
        strip(&mut objects);
        // Worlds are in different regions.
        let text = objects.to_string().replace(aws.estate.region(), "<region>");
        let objects: Value = serde_json::from_str(&text)?;
        let instances = aws.estate.instances().await?;
        Ok(json!({
            "objects": objects,
            "nodes": nodes(world, &instances).await?.len(),
            "instances": instances.iter().filter(|one| one.exists()).count(),
            "volumes": aws.estate.volumes().await?.len(),
            "hosts": aws.estate.hosts().await?.len(),
            "registered": aws.estate.registered(&aws.balancers).await?,
            // A second instance for one machine would be a duplicate, even if it was removed again.
            "instancesEverMade": instances.len(),
            "mostForOneMachine": most_for_one(&instances),
        }))
    }

    async fn meanwhile(&self, world: &World) -> Result<()> {
        aws(world)?.estate.shift().await
    }

    /// All machines are alike; what is counted is the how-many-th.
    fn label(&self, request: &ApiRequest) -> String {
        let name = request.name.as_deref().unwrap_or_default();
        match (&*request.resource, name.split_once(' ')) {
            ("events", Some((about, reason))) => format!("{} {reason}", class(about)),
            ("machines", _) if request.verb == Verb::Patch => format!("machine {}", told(request)),
            _ => class(name).to_owned(),
        }
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        match (&*request.resource, request.subresource.as_deref()) {
            // One tag is lost.
            ("CreateTags", _) => 1,
            // Two groups of targets for each machine.
            ("RegisterTargets" | "DeregisterTargets", _) => 2 * SIZE,
            _ if request.is_query_call() => SIZE,
            // Once for what the user waits for in each step; how often on the way depends on who is faster.
            ("machinesets", Some("status")) => 3,
            // Whether a reference is taken back before its machine is gone depends on who is faster.
            ("machines", Some("status")) if told(request) == NODE => SIZE,
            // Whether somebody looks between boot and Node.
            ("machines", _) if told(request) == STATE => 0,
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

fn aws(world: &World) -> Result<&WorldAws> {
    world.aws.as_ref().context("a world with AWS")
}

/// What a patch of a machine says, in a word that all machines share.
fn told(request: &ApiRequest) -> String {
    let body = request.json().unwrap_or_default();
    let status = &body["status"]["providerStatus"];
    match news(request) {
        word if word != STATE => word,
        _ if !status["launch"].is_null() => "launch".to_owned(),
        _ if !status["dedicatedHost"].is_null() => "host".to_owned(),
        word => word,
    }
}

fn class(name: &str) -> &'static str {
    match name {
        "" => "",
        SET => "set",
        // Nodes are called like their instances.
        _ if name.starts_with("set-") || name.starts_with("i-") => "machine",
        _ => "other",
    }
}

fn machine_set(aws: &WorldAws) -> Result<MachineSet> {
    let estate = &aws.estate;
    let labels = json!({
        "machine.openshift.io/cluster-api-machineset": SET,
        "machine.openshift.io/cluster-api-cluster": estate.name(),
    });
    let own_host = json!({
        "affinity": "DedicatedHost",
        "dedicatedHost": {"allocationStrategy": "Dynamic"},
    });
    let spec = estate.spec(&json!({
        "placement": {"region": estate.region(), "tenancy": "host", "host": own_host},
        "loadBalancers": estate.balanced(),
    }));
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": SET},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"metadata": {"labels": {"tier": "gold"}}, "providerSpec": {"value": spec}},
            },
        },
    }))?)
}

async fn scale(world: &World, size: u32) -> Result<()> {
    let sets: Api<MachineSet> = world.api();
    let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
    sets.patch_scale(SET, &PatchParams::default(), &patch).await?;
    let what = format!("{size} machines, and nothing else");
    let size = usize::try_from(size)?;
    world.eventually(&what, || is_settled(world, size)).await
}

/// Somebody removes a tag. A machine that is looked at gets it back.
async fn lose_a_tag(world: &World) -> Result<()> {
    let estate = &aws(world)?.estate;
    let victim = estate.live().await?.pop().context("an instance")?;
    estate.untag(&victim.id, TEAM).await?;
    let machines: Api<Machine> = world.api();
    let mut looks = 0;
    world
        .eventually("the tag to come back", || {
            looks += 1;
            let touch = json!({"metadata": {"annotations": {"looked": looks.to_string()}}});
            let machines = &machines;
            async move {
                for machine in machines.list(&ListParams::default()).await? {
                    let patch = Patch::Merge(&touch);
                    machines.patch(&machine.name_any(), &PatchParams::default(), &patch).await?;
                }
                let live = estate.live().await?;
                ensure!(live.iter().all(|one| one.tags.contains_key(TEAM)), "it is not there");
                Ok(())
            }
        })
        .await
}

/// Nodes of this world's machines: other worlds may be on the same API server.
async fn nodes(world: &World, instances: &[InstanceFacts]) -> Result<Vec<Node>> {
    let nodes = Api::<Node>::all(world.client()).list(&ListParams::default()).await?.items;
    let is_ours = |node: &Node| instances.iter().any(|one| one.id == node.name_any());
    Ok(nodes.into_iter().filter(is_ours).collect())
}

fn most_for_one(instances: &[InstanceFacts]) -> usize {
    let mut counts = BTreeMap::<_, usize>::new();
    for instance in instances {
        *counts.entry(instance.tags.get(UID)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default()
}

async fn is_settled(world: &World, size: usize) -> Result<()> {
    let WorldAws { estate, balancers, .. } = aws(world)?;
    let machines: Api<Machine> = world.api();
    let machines = machines.list(&ListParams::default()).await?.items;
    let phases: Vec<_> = machines
        .iter()
        .map(|one| one.status.as_ref().and_then(|status| status.phase.clone()))
        .collect();
    ensure!(machines.len() == size, "there are {} machines: {phases:?}", machines.len());
    let run = phases.iter().all(|phase| phase.as_deref() == Some("Running"));
    ensure!(run, "phases are {phases:?}");
    let stay = machines.iter().all(|one| one.metadata.deletion_timestamp.is_none());
    ensure!(stay, "one is on its way out");
    let sets: Api<MachineSet> = world.api();
    let status = sets.get(SET).await?.status.unwrap_or_default();
    let said = (status.replicas.unwrap_or(-1), status.ready_replicas.unwrap_or(0));
    let wanted = i32::try_from(size)?;
    ensure!(said == (wanted, wanted), "the set says {said:?}");

    let live = estate.live().await?;
    let nodes = nodes(world, &live).await?;
    ensure!(nodes.len() == size, "there are {} nodes", nodes.len());
    ensure!(nodes.iter().all(is_linked), "a node does not name its machine");
    let left = [live.len(), estate.volumes().await?.len(), estate.hosts().await?.len()];
    ensure!(left == [size; 3], "instances, volumes and hosts are {left:?}");
    let registered = estate.registered(balancers).await?;
    ensure!(registered.iter().all(|ids| ids.len() == size), "registered are {registered:?}");
    Ok(())
}

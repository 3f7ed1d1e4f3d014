//! "Create a MachineDeployment of 4, change its template, then a label": a rolling update with a canary and one Machine
//! more than wanted, and a change of living Machines. An observer records how many Machines there are and how many are
//! ready during the update. In between, a template that does not work aborts the rollout, and the one before is put
//! back.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use machinist_api::names::{ANNOTATION_CANARY_PASSED, ANNOTATION_ORDINALS, ANNOTATION_ROLLOUT};
use serde_json::{Map, Value, json};

use super::{family, machines, scaling};
use crate::World;
use crate::crash::{Milestone, Scenario, normalise};
use crate::faults::{ApiRequest, Verb};
use crate::world::reading::{condition, is_alive, phase};
use crate::world::{Extremes, Observer};

pub(super) const WEB: &str = "web";
const SIZE: usize = 4;
const SURGE: usize = 1;
/// The MachineSets of the two templates. The name follows from the template, which is stored in clusters.
pub(super) const OLD: &str = "web-xtp5dm9xbp";
const NEW: &str = "web-6rs4kkb5hx";

/// A rolling update of four machines.
#[derive(Debug, Clone, Copy)]
pub struct Rolling;

impl Scenario for Rolling {
    fn name(&self) -> &'static str {
        "rolling"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let spec = json!({
            "replicas": SIZE,
            "selector": {"matchLabels": {"app": WEB}},
            "strategy": {"rollingUpdate": {
                "maxSurge": SURGE, "maxUnavailable": 0,
                "canary": {"soakSeconds": 1}, "abort": {"failedMachines": 1},
            }},
            "template": template("sim.small"),
        });
        world.create_machine_deployment(WEB, json!({}), spec).await?;
        settles(world, OLD).await?;
        world.milestone("1: machines run", || state(world)).await?;

        let observer = Observer::start(world).await?;
        world.patch_deployment(WEB, json!({"spec": {"template": template("sim.medium")}})).await?;
        settles(world, NEW).await?;
        let Extremes { most, fewest_ready, .. } = observer.stop(world).await?;
        let kept = most <= SIZE + SURGE && fewest_ready >= SIZE;
        ensure!(kept, "there were {most} machines, and at one time {fewest_ready} were ready");
        world.milestone("2: all are replaced", || state(world)).await?;

        let broken = json!({"spec": {"providerSpec": {"value": {"bootSeconds": "soon"}}}});
        world.patch_deployment(WEB, json!({"spec": {"template": broken}})).await?;
        let aborted = |web: &DynamicObject| condition(web, "Progressing") == "False/RolloutAborted";
        world.until_deployment(WEB, "the rollout is aborted", aborted).await?;
        world.patch_deployment(WEB, json!({"spec": {"template": template("sim.medium")}})).await?;
        settles(world, NEW).await?;
        world.milestone("3: the template is put back", || state(world)).await?;

        let label = json!({"labels": {machines::LABEL: "silver"}});
        let patch = json!({"spec": {"template": {"spec": {"metadata": label}}}});
        world.patch_deployment(WEB, patch).await?;
        world.eventually("all machines to have the label", || is_labelled(world)).await?;
        settles(world, NEW).await?;
        world.milestone("4: all have another label", || state(world)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        let cloud = scaling::cloud(world)?;
        Ok(json!({
            "objects": state(world).await?.state,
            "nodes": machines::nodes(world, &scaling::instances(cloud)).await?.len(),
            "instances": cloud.live(),
            "volumes": cloud.volumes(),
            // One for each machine of each template.
            "instancesEverMade": cloud.created(),
        }))
    }

    fn label(&self, request: &ApiRequest) -> String {
        label(request)
    }

    fn at_least(&self, request: &ApiRequest) -> u32 {
        let (news, label) = (machines::news(request), label(request));
        match (&*request.resource, request.subresource.as_deref()) {
            // Once for what the user waits for in each step; how often on the way depends on timing, as below.
            ("machinedeployments" | "machinesets", Some("status")) => 2,
            ("events", _) if machines::is_warning(request) || label.contains(" machine ") => 0,
            ("events", _) => 1,
            // For each machine of the rollout.
            ("machinesets", _) if label.ends_with(ANNOTATION_ORDINALS) => 2,
            ("machinedeployments" | "machinesets", _) => u32::MAX,
            ("machines", None) if request.verb != Verb::Patch => 2,
            ("machines", None) if is_label(request) => 1,
            ("nodes", _) if is_mark(request) => 1,
            // What a single machine goes through is tried in other scenarios, too.
            _ if news == machines::STATE || news == machines::DRAINING => 0,
            ("machines", _) if label.starts_with("new") => 1,
            ("machines", _) if label.starts_with("old") => is_of_deletion(&news).into(),
            ("machines", _) => 0,
            _ => 1,
        }
    }
}

pub(super) fn label(request: &ApiRequest) -> String {
    let name = request.name.as_deref().unwrap_or_default();
    match (&*request.resource, name.split_once(' ')) {
        ("events", Some((about, reason))) => format!("{} {reason}", class(about)),
        ("machines", _) if is_label(request) => format!("{} label", class(name)),
        ("machines", _) if request.verb == Verb::Patch => {
            format!("{} {}", class(name), machines::news(request))
        }
        ("nodes", _) if is_mark(request) => mark(request).to_owned(),
        ("machinesets", _) if request.verb == Verb::Patch => {
            format!("{} {}", class(name), change(request))
        }
        _ => class(name).to_owned(),
    }
}

pub(super) fn template(kind: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": WEB, "machine.openshift.io/cluster-api-cluster": "test"}},
        "spec": {
            "metadata": {"labels": {machines::LABEL: "gold"}},
            "providerSpec": {"value": {
                "apiVersion": "sim.machinist.dev/v1beta1",
                "kind": "SimMachineProviderConfig",
                "instanceType": kind,
                "zone": "a",
                // Long enough for the machine to be Provisioned before its Node appears, in every run.
                "bootSeconds": 30,
            }},
        },
    })
}

fn class(name: &str) -> &'static str {
    match name {
        "" => "",
        WEB => "deployment",
        OLD => "old set",
        NEW => "new set",
        _ if name.starts_with("web-") && name.matches('-').count() == 1 => "broken set",
        _ if name.starts_with(OLD) => "old machine",
        _ if name.starts_with(NEW) => "new machine",
        _ if name.starts_with("web-") => "broken machine",
        _ => "other",
    }
}

/// Whether it is a status of a machine that is deleted.
fn is_of_deletion(news: &str) -> bool {
    news == "Deleting" || news.starts_with("Succeeded")
}

/// Whether it is a patch of the rollout's marks on a Node.
fn is_mark(request: &ApiRequest) -> bool {
    let body = request.json().unwrap_or_default();
    body["metadata"]["annotations"].get(ANNOTATION_ROLLOUT).is_some()
}

fn mark(request: &ApiRequest) -> &'static str {
    let body = request.json().unwrap_or_default();
    match body["metadata"]["annotations"][ANNOTATION_ROLLOUT].as_str() {
        None => "marks gone",
        Some(record) if record.ends_with("prefer-no-schedule") => "marks of old",
        Some(_) => "marks of new",
    }
}

/// Whether the label of the template is copied to a machine.
fn is_label(request: &ApiRequest) -> bool {
    let body = request.json().unwrap_or_default();
    request.verb == Verb::Patch && body["spec"].get("metadata").is_some()
}

/// What a patch of a MachineSet changes.
fn change(request: &ApiRequest) -> String {
    let body = request.json().unwrap_or_default();
    let keys = |value: &Value| {
        let keys = value.as_object().into_iter().flat_map(Map::keys).cloned();
        keys.filter(|key| key != "resourceVersion" && key != "uid").collect::<Vec<_>>().join(", ")
    };
    match (body["spec"]["replicas"].as_u64(), &body["metadata"]["annotations"]) {
        (Some(size), _) => format!("to {size}"),
        (None, Value::Null) => keys(&body["metadata"]),
        (None, annotations) => keys(annotations),
    }
}

/// Everything, with the machines that are there.
pub(super) async fn state(world: &World) -> Result<Milestone> {
    let mut milestone = family::milestone(world, scaling::bodies(world)?).await?;
    let known = [(world.namespace.clone(), "<namespace>".to_owned())];
    let deployments = world.objects(&[machines::kind("MachineDeployment")]).await?;
    milestone.state["deployments"] =
        deployments.iter().map(|deployment| normalise::one(deployment, &known)).collect();
    Ok(milestone)
}

async fn is_labelled(world: &World) -> Result<()> {
    let has_label = |machine: &&DynamicObject| {
        machine.data["spec"]["metadata"]["labels"][machines::LABEL] == json!("silver")
    };
    let all = world.machines().list(&ListParams::default()).await?.items;
    let labelled = all.iter().filter(has_label).count();
    let set = world.sets().get(NEW).await?;
    let pending = set.annotations().contains_key("machinist.dev/pending-changes");
    ensure!(labelled == SIZE && !pending, "{labelled} of {}, pending: {pending}", all.len());
    Ok(())
}

async fn settles(world: &World, set: &str) -> Result<()> {
    let what = format!("{SIZE} machines of {set}, and nothing else");
    world.eventually(&what, || is_settled(world, set)).await
}

async fn is_settled(world: &World, set: &str) -> Result<()> {
    let web = world.deployments().get(WEB).await?;
    let status = &web.data["status"];
    let counts = ["replicas", "updatedReplicas", "availableReplicas"].map(|name| &status[name]);
    let complete = status["observedGeneration"].as_i64() == web.metadata.generation
        && counts.iter().all(|count| **count == json!(SIZE))
        && condition(&web, "Progressing") == "True/NewMachineSetAvailable";
    ensure!(complete, "{status}");
    let all = world.machines().list(&ListParams::default()).await?.items;
    let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
    let is_new = |machine: &DynamicObject| {
        let owners = machine.owner_references();
        let owned = owners.iter().map(|owner| &*owner.name).eq([set]);
        owned && phase(machine) == "Running" && is_alive(machine)
    };
    ensure!(all.len() == SIZE && all.iter().all(is_new), "there are {names:?}");
    let owner = world.sets().get(set).await?;
    ensure!(owner.annotations().contains_key(ANNOTATION_CANARY_PASSED), "{set} has not passed");
    let status = owner.data["status"].clone();
    ensure!(status["readyReplicas"] == json!(SIZE), "the status of {set} is {status}");
    let cloud = scaling::cloud(world)?;
    machines::ensure_linked(world, &scaling::instances(cloud), SIZE).await?;
    let nodes = machines::nodes(world, &scaling::instances(cloud)).await?;
    let marked = |node: &Node| node.annotations().contains_key(ANNOTATION_ROLLOUT);
    ensure!(!nodes.iter().any(marked), "the rollout's marks are still on Nodes");
    ensure!(cloud.live() == SIZE, "the cloud has {} instances", cloud.live());
    Ok(())
}

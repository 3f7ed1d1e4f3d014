//! The state of machines in full: each Machine with its Nodes and instances, in which every name is replaced by what it
//! stands for. Machines that are alike give equal values, whatever they are called; a reference to something of
//! another machine keeps its name and differs.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_FAILED_MACHINES, ANNOTATION_ROLLOUT_ABORTED,
    ANNOTATION_ROLLOUT_STARTED,
};
use serde_json::{Value, json};

use crate::World;
use crate::crash::{Milestone, normalise};

/// Annotations of MachineSets with times and names.
const OF_RUN: [&str; 4] = [
    ANNOTATION_CANARY_PASSED,
    ANNOTATION_FAILED_MACHINES,
    ANNOTATION_ROLLOUT_ABORTED,
    ANNOTATION_ROLLOUT_STARTED,
];

/// Of Events about a state on the way: whether a reconcile falls into it depends on timing.
const ON_THE_WAY: &str = "DetectedUnhealthy";

/// An instance as the cloud knows it.
pub(super) struct Body {
    /// Of the Machine for which it was made.
    pub(super) uid: String,
    pub(super) id: String,
    /// Of its Machine.
    pub(super) machine: String,
    /// What differs between runs, beside id and name, and what to say instead.
    pub(super) names: Vec<(String, String)>,
    pub(super) facts: Value,
}

#[derive(Default)]
struct Family {
    machine: Option<Value>,
    nodes: Vec<Value>,
    instances: Vec<Value>,
    names: Vec<(String, String)>,
}

impl Family {
    fn called(&mut self, name: &str, instead: &str) {
        if !name.is_empty() {
            self.names.push((name.to_owned(), instead.to_owned()));
        }
    }

    fn normal(&self, value: &Value) -> Value {
        normalise::one(value, &self.names)
    }

    fn state(&self) -> Value {
        let all =
            |values: &[Value]| values.iter().map(|value| self.normal(value)).collect::<Value>();
        json!({
            "machine": self.machine.as_ref().map(|machine| self.normal(machine)),
            "nodes": all(&self.nodes),
            "instances": all(&self.instances),
        })
    }
}

/// Machines, their Nodes, instances and Events, and the MachineSets. What has no Machine any more is there, too.
pub(super) async fn milestone(world: &World, bodies: Vec<Body>) -> Result<Milestone> {
    let sets = world.objects(&[super::machines::kind("MachineSet")]).await?;
    let mut known = vec![(world.namespace.clone(), "<namespace>".to_owned())];
    for set in &sets {
        known.push((
            text(set, "/metadata/uid"),
            format!("<uid of {}>", text(set, "/metadata/name")),
        ));
    }
    let families = families(world, bodies, &known).await?;
    let mut machines: Vec<Value> = families.values().map(Family::state).collect();
    machines.sort_by_cached_key(Value::to_string);
    let sets: Vec<Value> = sets.into_iter().map(|set| plain_set(set, &known)).collect();
    let events = events(world, &families).await?;
    Ok(Milestone { state: json!({"sets": sets, "machines": machines}), events })
}

async fn families(
    world: &World,
    bodies: Vec<Body>,
    known: &[(String, String)],
) -> Result<BTreeMap<String, Family>> {
    let mut families = BTreeMap::<String, Family>::new();
    let nodes: Api<Node> = Api::all(world.client.clone());
    let nodes = nodes.list(&ListParams::default()).await?.items;
    for mut machine in world.objects(&[super::machines::kind("Machine")]).await? {
        without_annotation(&mut machine, super::machines::TOUCH);
        let family = families.entry(text(&machine, "/metadata/uid")).or_default();
        family.called(&text(&machine, "/metadata/name"), "<machine>");
        family.machine = Some(machine);
    }
    for Body { uid, id, machine, names, facts } in bodies {
        let family = families.entry(uid).or_default();
        for node in nodes.iter().filter(|node| node.name_any() == id) {
            family.called(&node.uid().unwrap_or_default(), "<uid of node>");
            family.nodes.push(serde_json::to_value(node)?);
        }
        family.called(&id, "<instance>");
        family.called(&machine, "<machine>");
        family.names.extend(names);
        family.instances.push(facts);
    }
    for (uid, family) in &mut families {
        family.called(uid, "<uid of machine>");
        family.names.extend(known.iter().cloned());
        // The longest first: a name may be a part of another one.
        family.names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    }
    Ok(families)
}

/// Ordinals that a crash burned are gone for good, which is how they work.
fn plain_set(mut set: Value, known: &[(String, String)]) -> Value {
    without_annotation(&mut set, machinist_api::names::ANNOTATION_ORDINALS);
    for name in OF_RUN {
        if let Some(value) = set["metadata"]["annotations"].get_mut(name) {
            *value = "<stored>".into();
        }
    }
    normalise::one(&set, known)
}

fn without_annotation(object: &mut Value, name: &str) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return;
    };
    annotations.remove(name);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// Warnings report the fault. What a set or a deployment has done is counted in portions that depend on timing: of
/// these, only whether there are any.
async fn events(
    world: &World,
    families: &BTreeMap<String, Family>,
) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for event in world.api::<Event>().list(&ListParams::default()).await? {
        let event = serde_json::to_value(event)?;
        let (reason, note) = (text(&event, "/reason"), text(&event, "/note"));
        if event["type"] != "Normal" || reason == ON_THE_WAY {
            continue;
        }
        let kind = text(&event, "/regarding/kind");
        let note = match families.get(&text(&event, "/regarding/uid")) {
            Some(family) => family.normal(&note.into()).as_str().unwrap_or_default().to_owned(),
            None => note.split(' ').next().unwrap_or_default().to_owned(),
        };
        let line = format!("{kind} {reason}: {note}");
        let in_portions = kind == "MachineSet" || kind == "MachineDeployment";
        if !in_portions || seen.insert(line.clone()) {
            *counts.entry(line).or_insert(0) += 1;
        }
    }
    Ok(counts)
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

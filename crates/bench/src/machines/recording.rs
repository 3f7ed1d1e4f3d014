//! Within a chain each write follows the answer to the one before, because most of them name the version that they
//! change. A machine's chain also has the creation of its Node: without it the Node could not be changed, and the API
//! server has that work in both cases. Writes that were refused are left out.

use std::collections::HashMap;

use anyhow::{Context, Result};
use http::Method;
use machinist_api::names::ANNOTATION_MACHINE;
use machinist_api::resource::{EVENTS, MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES, NODES};
use machinist_provider_sim::kubelet;
use machinist_testbed::audit::AuditEntry;
use serde_json::{Value, json};

use crate::audit_window::MACHINIST;

/// Stands for the uid of the object in question; [`VERSION`] for its version.
pub(super) const UID: &str = "@uid@";
pub(super) const VERSION: &str = "@version@";

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: String,
    /// The object whose uid and version are meant.
    pub(super) about: String,
    /// Whether the answer is that object.
    pub(super) answers: bool,
}

pub(super) type Chain = Vec<Step>;

#[derive(Debug)]
pub(super) struct Recording {
    /// What is there when the time begins.
    pub(super) before: Vec<Chain>,
    pub(super) chains: Vec<Chain>,
}

impl Recording {
    /// The first entries, of this number, come before what is measured.
    pub(super) fn of(entries: &[AuditEntry], before: usize) -> Result<Self> {
        let wanted = |entry: &&AuditEntry| is_wanted(entry);
        let owners = entries.iter().filter(wanted).filter_map(owner).collect();
        let (before, after) = entries.split_at(before.min(entries.len()));
        let chains = |part: &[AuditEntry]| chains(part.iter().filter(wanted), &owners);
        Ok(Self { before: chains(before)?, chains: chains(after)? })
    }
}

fn chains<'a>(
    entries: impl Iterator<Item = &'a AuditEntry>,
    owners: &HashMap<&str, &str>,
) -> Result<Vec<Chain>> {
    let mut places = HashMap::new();
    let mut chains: Vec<Chain> = Vec::new();
    for entry in entries {
        let (chain, step) =
            step(entry, owners).with_context(|| format!("{} {}", entry.verb, entry.request_uri))?;
        let place = *places.entry(chain).or_insert(chains.len());
        if place == chains.len() {
            chains.push(Chain::new());
        }
        chains[place].push(step);
    }
    Ok(chains)
}

/// A write of the controllers, or the registration of a Node.
fn is_wanted(entry: &AuditEntry) -> bool {
    let registers = entry.user_agent == kubelet::USER_AGENT && entry.verb == "create";
    let writes = entry.user_agent.starts_with(MACHINIST) && entry.is_write();
    (registers || writes) && entry.code < 300
}

/// The Node that is changed, and the Machine in its annotation.
fn owner(entry: &AuditEntry) -> Option<(&str, &str)> {
    let annotations = &entry.request.as_ref()?["metadata"]["annotations"];
    let (_, machine) = annotations[ANNOTATION_MACHINE].as_str()?.split_once('/')?;
    (entry.resource == NODES.plural).then_some((&*entry.name, machine))
}

/// With the chain that it belongs to.
fn step(entry: &AuditEntry, owners: &HashMap<&str, &str>) -> Result<(String, Step)> {
    let method = match &*entry.verb {
        "create" => Method::POST,
        "delete" => Method::DELETE,
        _ => Method::PATCH,
    };
    let mut body = match &entry.request {
        Some(body) => body.clone(),
        None if method == Method::DELETE => json!({}),
        None => anyhow::bail!("the log has no body"),
    };
    let is_event = entry.resource == EVENTS.plural;
    let about = if is_event {
        let regarding = &mut body["regarding"];
        placeholders(regarding);
        let plural = match regarding["kind"].as_str() {
            Some(kind) if kind == MACHINES.kind => MACHINES.plural,
            Some(kind) if kind == MACHINE_SETS.kind => MACHINE_SETS.plural,
            Some(kind) if kind == MACHINE_DEPLOYMENTS.kind => MACHINE_DEPLOYMENTS.plural,
            other => anyhow::bail!("an Event about {other:?}"),
        };
        format!("{plural}/{}", regarding["name"].as_str().unwrap_or_default())
    } else {
        let names = if method == Method::DELETE { "preconditions" } else { "metadata" };
        if let Some(identity) = body.get_mut(names) {
            placeholders(identity);
        }
        format!("{}/{}", entry.resource, entry.name)
    };
    let chain = match owners.get(&*entry.name) {
        Some(machine) if entry.resource == NODES.plural => format!("{}/{machine}", MACHINES.plural),
        _ => about.clone(),
    };
    // The API server adds these before it logs a creation.
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !matches!(&**field, "creationTimestamp" | "managedFields"));
    }
    let path = entry.request_uri.clone();
    Ok((chain, Step { method, path, body: body.to_string(), about, answers: !is_event }))
}

fn placeholders(metadata: &mut Value) {
    for (field, placeholder) in [("uid", UID), ("resourceVersion", VERSION)] {
        if let Some(value) = metadata.get_mut(field) {
            *value = json!(placeholder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(agent: &str, verb: &str, resource: &str, name: &str, request: Value) -> AuditEntry {
        let now = jiff::Timestamp::now();
        AuditEntry {
            audit_id: String::new(),
            received: now,
            completed: now,
            user: String::new(),
            user_agent: agent.to_owned(),
            verb: verb.to_owned(),
            group: String::new(),
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            code: 200,
            request_uri: format!("/{resource}/{name}"),
            request: Some(request),
            response: None,
        }
    }

    #[test]
    fn a_machine_has_one_chain_with_its_node_and_its_events() {
        let annotations = json!({ANNOTATION_MACHINE: "ns/m"});
        let regarding = json!({"kind": "Machine", "name": "m", "uid": "u1"});
        let mut refused = entry("machinist-machine/1", "patch", "machines", "m", json!({}));
        refused.code = 409;
        let log = [
            entry("machinist-machineset/1", "create", "machines", "m", json!({"metadata": {}})),
            refused,
            entry(kubelet::USER_AGENT, "create", "nodes", "n", json!({"metadata": {}})),
            entry(kubelet::USER_AGENT, "patch", "nodes", "n", json!({})),
            entry("someone", "patch", "machines", "m", json!({})),
            entry(
                "machinist-nodelink/1",
                "patch",
                "nodes",
                "n",
                json!({"metadata": {"uid": "u2", "resourceVersion": "7", "annotations": annotations}}),
            ),
            entry("machinist-machine/1", "create", "events", "e", json!({"regarding": regarding})),
            entry("machinist-machineset/1", "patch", "machinesets", "s", json!({"metadata": {}})),
        ];
        let chains = Recording::of(&log, 0).unwrap().chains;
        let about = |chain: &Chain| chain.iter().map(|step| step.about.clone()).collect::<Vec<_>>();
        assert_eq!(
            chains.iter().map(about).collect::<Vec<_>>(),
            [vec!["machines/m", "nodes/n", "nodes/n", "machines/m"], vec!["machinesets/s"],]
        );
        assert!(chains[0][2].body.contains(UID) && chains[0][2].body.contains(VERSION));
        assert!(chains[0][3].body.contains(UID) && !chains[0][3].answers);
        let recording = Recording::of(&log, 1).unwrap();
        assert_eq!(
            (about(&recording.before[0]), recording.before.len()),
            (vec!["machines/m".to_owned()], 1)
        );
        assert_eq!(recording.chains[0].len(), 3);
    }

    #[test]
    fn a_deletion_names_the_version_that_it_is_for() {
        let options = json!({"preconditions": {"uid": "u1", "resourceVersion": "7"}});
        let log = [entry("machinist-machineset/1", "delete", "machines", "m", options)];
        let step = &Recording::of(&log, 0).unwrap().chains[0][0];
        assert_eq!(step.method, Method::DELETE);
        assert!(step.body.contains(UID) && step.body.contains(VERSION), "{}", step.body);
    }
}

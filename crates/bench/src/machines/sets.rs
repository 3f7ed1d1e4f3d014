//! Names differ only in two digits, so that what was recorded of one set can be said of any other ([`rename`]).

use std::collections::HashMap;

use anyhow::{Context, Result};
use machinist_api::resource::{MACHINE_SETS, NODES};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::raw::{Bare, Outgoing};

pub(super) fn namespace(number: usize) -> String {
    format!("bench-fleet-{number:02}")
}

pub(super) fn name(number: usize) -> String {
    format!("prod-eu-x7k2p-worker-{number:02}")
}

/// Says of the set of this number what was said of the first one.
pub(super) fn rename(text: &str, number: usize) -> String {
    text.replace(&namespace(0), &namespace(number)).replace(&name(0), &name(number))
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity {
    pub(super) uid: String,
    pub(super) resource_version: String,
}

impl Identity {
    pub(super) fn read(answer: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Identity,
        }
        let object: Object = serde_json::from_slice(answer).context("not an object")?;
        Ok(object.metadata)
    }
}

pub(super) async fn create(
    setup: &Bare,
    sets: usize,
    replicas: usize,
) -> Result<HashMap<String, Identity>> {
    let mut created = HashMap::new();
    for number in 0..sets {
        let path = MACHINE_SETS.collection_path(Some(&namespace(number)));
        let answer = setup.send(Outgoing::create(path, &machine_set(number, replicas))).await?;
        created.insert(name(number), Identity::read(&answer)?);
    }
    Ok(created)
}

pub(super) async fn create_namespaces(setup: &Bare, sets: usize) -> Result<()> {
    for number in 0..sets {
        setup.create_namespace(&namespace(number)).await?;
    }
    Ok(())
}

pub(super) async fn scale_to_nothing(setup: &Bare, sets: usize) -> Result<()> {
    for number in 0..sets {
        let path = MACHINE_SETS.object_path(&namespace(number), &name(number));
        let body = json!({"spec": {"replicas": 0}});
        setup.send(Outgoing::merge_patch(path, &body)).await?;
    }
    Ok(())
}

/// All, and those that run.
pub(super) async fn machines(setup: &Bare) -> Result<(usize, usize)> {
    let phases = setup.machine_phases().await?;
    let running = phases.iter().filter(|phase| *phase == "Running").count();
    Ok((phases.len(), running))
}

pub(super) async fn nodes(setup: &Bare) -> Result<usize> {
    let all: Vec<serde::de::IgnoredAny> = setup.list(NODES.collection_path(None)).await?;
    Ok(all.len())
}

/// As large as those of a real cluster; the instances boot at once.
fn machine_set(number: usize, replicas: usize) -> Value {
    let (cluster, name) = ("prod-eu-x7k2p", name(number));
    let labels = json!({
        "machine.openshift.io/cluster-api-cluster": cluster,
        "machine.openshift.io/cluster-api-machineset": name,
    });
    let mut machine_labels = labels.clone();
    machine_labels["machine.openshift.io/cluster-api-machine-role"] = json!("worker");
    machine_labels["machine.openshift.io/cluster-api-machine-type"] = json!("worker");
    json!({
        "apiVersion": MACHINE_SETS.api_version(),
        "kind": MACHINE_SETS.kind,
        "metadata": {
            "name": name,
            "labels": {"machine.openshift.io/cluster-api-cluster": cluster},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": machine_labels},
                "spec": {
                    "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                    "providerSpec": {"value": {
                        "apiVersion": "sim.machinist.dev/v1beta1",
                        "kind": "SimMachineProviderConfig",
                        "instanceType": "sim.medium",
                        "bootSeconds": 0,
                        "rootVolumeGiB": 120,
                        "tags": {"team": "platform", "environment": "production"},
                    }},
                },
            },
        },
    })
}

//! Names differ only in two digits, so that what was recorded of one set can be said of any other ([`rename`]).

use std::collections::HashMap;

use anyhow::{Context, Result};
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS, NODES, Resource};
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

/// What the Machines are created by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    MachineSet,
    MachineDeployment,
}

impl Owner {
    pub(super) fn resource(self) -> Resource {
        match self {
            Self::MachineSet => MACHINE_SETS,
            Self::MachineDeployment => MACHINE_DEPLOYMENTS,
        }
    }

    pub(super) async fn create(
        self,
        setup: &Bare,
        sets: usize,
        replicas: usize,
    ) -> Result<HashMap<String, Identity>> {
        let mut created = HashMap::new();
        for number in 0..sets {
            let path = self.resource().collection_path(Some(&namespace(number)));
            let body = self.manifest(number, replicas);
            let answer = setup.send(Outgoing::create(path, &body)).await?;
            created.insert(name(number), Identity::read(&answer)?);
        }
        Ok(created)
    }

    pub(super) async fn change(self, setup: &Bare, sets: usize, body: &Value) -> Result<()> {
        for number in 0..sets {
            let path = self.resource().object_path(&namespace(number), &name(number));
            setup.send(Outgoing::merge_patch(path, body)).await?;
        }
        Ok(())
    }

    fn manifest(self, number: usize, replicas: usize) -> Value {
        let mut manifest = machine_set(number, replicas);
        if self == Self::MachineDeployment {
            manifest["kind"] = json!(self.resource().kind);
            manifest["spec"]["strategy"] =
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}});
        }
        manifest
    }
}

pub(super) async fn create_namespaces(setup: &Bare, sets: usize) -> Result<()> {
    for number in 0..sets {
        setup.create_namespace(&namespace(number)).await?;
    }
    Ok(())
}

/// Whether every Machine is of the newest template and available.
pub(super) async fn have_rolled(setup: &Bare, replicas: usize) -> Result<bool> {
    let all: Vec<Value> = setup.list(MACHINE_DEPLOYMENTS.collection_path(None)).await?;
    let is_done = |deployment: &Value| {
        let status = &deployment["status"];
        status["observedGeneration"] == deployment["metadata"]["generation"]
            && ["replicas", "updatedReplicas", "availableReplicas"]
                .iter()
                .all(|counter| status[counter] == json!(replicas))
    };
    Ok(all.iter().all(is_done))
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

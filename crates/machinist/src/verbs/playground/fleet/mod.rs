//! The MachineSet with machines in the simulated cloud.

pub(super) mod cloud;
mod prove;
mod view;

use std::collections::BTreeSet;

use anyhow::Context;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use machinist_api::machine::Machine;
use machinist_api::machine_set::MachineSet;
use serde_json::json;

use self::cloud::Cloud;
use super::{NAMESPACE, messages};
use crate::cli::{FailMode, PlaygroundArguments};

pub(super) const NAME: &str = "fleet";

pub(super) struct Fleet {
    sets: Api<MachineSet>,
    machines: Api<Machine>,
    nodes: Api<Node>,
    cloud: Cloud,
    size: u32,
}

impl Fleet {
    pub(super) async fn create(
        client: &Client,
        cloud: Cloud,
        arguments: &PlaygroundArguments,
    ) -> anyhow::Result<Self> {
        let sets = Api::namespaced(client.clone(), NAMESPACE);
        let set = sample(arguments.machines, arguments.fail)?;
        let created = sets.create(&PostParams::default(), &set).await;
        created.with_context(|| messages::cannot("create", "MachineSet", NAME))?;
        Ok(Self {
            sets,
            machines: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::all(client.clone()),
            cloud,
            size: arguments.machines,
        })
    }

    pub(super) async fn table(&self, with_ages: bool) -> anyhow::Result<String> {
        let machines = self.machines.list(&ListParams::default()).await?.items;
        let table = view::table(&machines, jiff::Timestamp::now(), with_ages);
        Ok(format!("{table}\n\n{}", messages::instances(self.cloud.sim.live())))
    }

    async fn scale(&self, replicas: u32) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let scaled = self.sets.patch_scale(NAME, &PatchParams::default(), &patch).await;
        scaled.with_context(|| messages::cannot("scale", "MachineSet", NAME))?;
        Ok(())
    }

    /// The Running machines, if there are no other machines, instances or Nodes.
    async fn settled(&self) -> anyhow::Result<Option<BTreeSet<String>>> {
        let machines = self.machines.list(&ListParams::default()).await?.items;
        let running: BTreeSet<_> = machines
            .iter()
            .filter(|one| view::is_running(one))
            .map(ResourceExt::name_any)
            .collect();
        let nodes = self.nodes.list(&ListParams::default()).await?.items.len();
        let count = running.len();
        let agree = count == machines.len() && count == nodes && count == self.cloud.sim.live();
        Ok(agree.then_some(running))
    }
}

fn sample(replicas: u32, fail: Option<FailMode>) -> anyhow::Result<MachineSet> {
    let labels = json!({"machine.openshift.io/cluster-api-machineset": NAME});
    let mut machine_labels = labels.clone();
    machine_labels["machine.openshift.io/cluster-api-cluster"] = json!("playground");
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": machine_labels},
                "spec": {"providerSpec": {"value": {
                    "apiVersion": "sim.machinist.dev/v1beta1",
                    "kind": "SimMachineProviderConfig",
                    "instanceType": "sim.medium",
                    "bootSeconds": 2,
                    "stopSeconds": 1,
                    "dataVolumeGiB": 10,
                    "failures": cloud::behaviour(fail).1,
                }}},
            },
        },
    }))?)
}

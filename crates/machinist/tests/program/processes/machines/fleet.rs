//! MachineSets on a simulated cloud, as a user handles them. The cloud and its kubelets live in the test, outside of
//! the process that is tested.

use std::ops::Deref;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;
use machinist_api::names::{LABEL_CLUSTER, LABEL_MACHINE_SET};
use machinist_provider_sim::ENDPOINT_VARIABLE;
use machinist_provider_sim::server::SimCloud;
use machinist_testbed::world::WorldCloud;
use machinist_testbed::world::reading::{node_of, runs};
use serde_json::{Value, json};

use crate::processes::support::process::Process;
use crate::processes::support::world::AnnotatorWorld;

/// What a machine wants on its Node.
pub(super) const WANTED: &str = "example.com/wanted";

/// A world with machines, and their cloud.
pub(super) struct Fleet(AnnotatorWorld);

impl Deref for Fleet {
    type Target = AnnotatorWorld;

    fn deref(&self) -> &AnnotatorWorld {
        &self.0
    }
}

impl Fleet {
    pub(super) async fn start(world: AnnotatorWorld) -> Result<Self> {
        Ok(Self(AnnotatorWorld(world.0.with_cloud(1.0).await?)))
    }

    fn world_cloud(&self) -> &WorldCloud {
        self.0.cloud.as_ref().unwrap()
    }

    pub(super) fn cloud(&self) -> &SimCloud {
        &self.world_cloud().sim
    }

    /// Where the cloud is, for a process.
    pub(super) fn variable(&self) -> (&'static str, &str) {
        (ENDPOINT_VARIABLE, &self.world_cloud().endpoint)
    }

    /// From now on, Nodes are neither registered nor updated.
    pub(super) fn stop_kubelets(&mut self) {
        self.0.0.cloud.as_mut().unwrap().kubelets = None;
    }

    /// Starts a process that knows where the cloud is.
    pub(super) async fn process(&self, kubeconfig: &str, flags: &[&str]) -> Result<Process> {
        Process::start_with(kubeconfig, &self.namespace, flags, Some(self.variable())).await
    }

    pub(super) async fn create_sim_set(&self, name: &str, spec: Value) -> Result<()> {
        self.create_machine_set(name, json!({}), set_spec(name, &spec)).await?;
        Ok(())
    }

    /// A machine that no set asked for, without a finalizer.
    pub(super) async fn create_sim_machine(&self, name: &str, spec: Value) -> Result<()> {
        let metadata = json!({"labels": {LABEL_CLUSTER: "c"}});
        self.create_machine(name, metadata, machine_spec(&spec)).await?;
        Ok(())
    }

    /// A machine that this API manages, or the other one.
    pub(super) async fn create_sim_machine_of(&self, name: &str, api: &str) -> Result<()> {
        let metadata = json!({"labels": {LABEL_CLUSTER: "c"}});
        let mut spec = machine_spec(&json!({}));
        spec["authoritativeAPI"] = json!(api);
        self.create_machine(name, metadata, spec).await?;
        Ok(())
    }

    /// Waits until exactly this many machines run, each linked with its Node, and nothing else is there; returns them
    /// with their Nodes.
    pub(super) async fn running(&self, count: usize) -> Result<Vec<(String, String)>> {
        self.eventually(&format!("{count} machines to run"), || async {
            let all = self.all_machines().await?;
            let linked = |one: &&DynamicObject| runs(one) && !node_of(one).is_empty();
            let running: Vec<_> = all.iter().filter(linked).collect();
            let (there, live) = (all.len(), self.cloud().live());
            ensure!(
                (running.len(), there, live) == (count, count, count),
                "{} of {there} machines run on {live} instances: {}",
                running.len(),
                serde_json::to_string(&all.iter().map(|one| &one.data).collect::<Vec<_>>())?
            );
            Ok(running.iter().map(|one| (one.name_any(), node_of(one).to_owned())).collect())
        })
        .await
    }
}

/// An empty set of machines, with more or other things in its provider spec.
fn set_spec(name: &str, provider: &Value) -> Value {
    let labels = json!({LABEL_MACHINE_SET: name});
    let template = json!({LABEL_MACHINE_SET: name, LABEL_CLUSTER: "c"});
    json!({
        "replicas": 0,
        "authoritativeAPI": "MachineAPI",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": template}, "spec": machine_spec(provider)},
    })
}

/// A machine that boots at once and wants something of everything on its Node.
pub(super) fn machine_spec(provider: &Value) -> Value {
    let mut spec = json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "bootSeconds": 0,
        "dataVolumeGiB": 1,
    });
    for (field, value) in provider.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({
        "authoritativeAPI": "MachineAPI",
        "metadata": {"labels": {WANTED: "yes"}, "annotations": {WANTED: "yes"}},
        "taints": [{"key": WANTED, "effect": "PreferNoSchedule", "value": "yes"}],
        "providerSpec": {"value": spec},
    })
}

/// The status of a set.
pub(super) async fn set_status(fleet: &Fleet, set: &str) -> Result<Value> {
    let set = fleet.sets().get(set).await?;
    set.data.get("status").cloned().context("no status")
}

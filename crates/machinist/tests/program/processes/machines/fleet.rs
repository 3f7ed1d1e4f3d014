//! MachineSets on a simulated cloud, as a user handles them. The cloud and its kubelets live in the test, outside of
//! the process that is tested.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use machinist_api::names::{LABEL_CLUSTER, LABEL_MACHINE_SET};
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::ENDPOINT_VARIABLE;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{SimCloud, SimServer};
use machinist_testbed::cluster;
use machinist_testbed::poll;
use serde_json::{Value, json};

use crate::processes::support::process::Process;
use crate::processes::support::scene::Scene;
use crate::processes::support::time::PATIENCE;

/// What a machine wants on its Node.
pub(super) const WANTED: &str = "example.com/wanted";

/// A namespace with machines, and their cloud.
pub(super) struct Fleet {
    pub(super) scene: Scene,
    pub(super) cloud: SimCloud,
    server: SimServer,
    _kubelets: Kubelets,
}

impl Fleet {
    pub(super) async fn start(control_plane: &ControlPlane, scene: Scene) -> Result<Self> {
        let cloud = SimCloud::new(fastrand::u64(..), 1.0);
        let server = SimServer::start(&cloud).await?;
        let config = control_plane.kube_config();
        let kubelets = Kubelets::start(&cloud, config, KubeletOptions::default())?;
        Ok(Self { scene, cloud, server, _kubelets: kubelets })
    }

    /// Starts a process that knows where the cloud is.
    pub(super) async fn process(&self, kubeconfig: &str, flags: &[&str]) -> Result<Process> {
        let url = self.server.url();
        let variable = Some((ENDPOINT_VARIABLE, &*url));
        Process::start_with(kubeconfig, &self.scene.namespace, flags, variable).await
    }

    pub(super) fn machines(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.scene.client.clone(), &self.scene.namespace, &cluster::machines())
    }

    pub(super) fn nodes(&self) -> Api<Node> {
        Api::all(self.scene.client.clone())
    }

    pub(super) async fn create_set(&self, name: &str, spec: Value) -> Result<()> {
        self.scene.create_set_with(name, set_spec(name, &spec)).await
    }

    /// A machine that no set asked for, without a finalizer.
    pub(super) async fn create_machine(&self, name: &str, spec: Value) -> Result<()> {
        let labels = BTreeMap::from([(LABEL_CLUSTER.to_owned(), "c".to_owned())]);
        let mut machine = DynamicObject::new(name, &cluster::machines())
            .data(json!({"spec": machine_spec(&spec)}));
        machine.metadata = ObjectMeta { labels: Some(labels), ..machine.metadata };
        self.machines().create(&PostParams::default(), &machine).await?;
        Ok(())
    }

    pub(super) async fn scale(&self, set: &str, replicas: usize) -> Result<()> {
        // Not by the scale subresource: the audit log would have a Scale in place of the set.
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.scene.sets().patch(set, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(super) async fn patch_machine(&self, name: &str, patch: Value) -> Result<()> {
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until exactly this many machines run, each linked with its Node, and nothing else is there; returns them
    /// with their Nodes.
    pub(super) async fn running(&self, count: usize) -> Result<Vec<(String, String)>> {
        poll::eventually(PATIENCE, &format!("{count} machines to run"), || async {
            let all = self.machines().list(&ListParams::default()).await?.items;
            let running: Vec<_> = all.iter().filter_map(runs).collect();
            let (there, live) = (all.len(), self.cloud.live());
            ensure!(
                (running.len(), there, live) == (count, count, count),
                "{} of {there} machines run on {live} instances: {}",
                running.len(),
                serde_json::to_string(&all.iter().map(|one| &one.data).collect::<Vec<_>>())?
            );
            Ok(running)
        })
        .await
    }

    /// Waits until a machine is as it should be.
    pub(super) async fn until(
        &self,
        name: &str,
        what: &str,
        right: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        poll::eventually(PATIENCE, what, || async {
            let machine = self.machines().get(name).await?;
            ensure!(right(&machine), "{}", serde_json::to_string(&machine.data)?);
            Ok(machine)
        })
        .await
    }
}

/// Name and Node of a machine that runs.
fn runs(machine: &DynamicObject) -> Option<(String, String)> {
    let status = &machine.data["status"];
    let running = status["phase"] == "Running" && machine.metadata.deletion_timestamp.is_none();
    let node = status["nodeRef"]["name"].as_str()?;
    running.then(|| (machine.metadata.name.clone().unwrap_or_default(), node.to_owned()))
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
fn machine_spec(provider: &Value) -> Value {
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

/// What a set says in its status.
pub(super) async fn set_status(fleet: &Fleet, set: &str) -> Result<Value> {
    let set = fleet.scene.sets().get(set).await?;
    set.data.get("status").cloned().context("no status")
}

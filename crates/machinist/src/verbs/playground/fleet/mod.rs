//! The MachineDeployment with machines in the simulated cloud, and its MachineHealthCheck.

pub(super) mod cloud;
mod prove;
mod view;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use machinist_api::machine::Machine;
use machinist_api::machine_deployment::MachineDeployment;
use machinist_api::machine_health_check::MachineHealthCheck;
use machinist_api::names::LABEL_CLUSTER;
use machinist_control_plane::ControlPlane;
use serde_json::json;

use self::cloud::Cloud;
use super::screen::state::FleetState;
use super::{NAMESPACE, messages};
use crate::cli::{FailMode, PlaygroundArguments};

pub(super) const NAME: &str = "fleet";
const KIND: &str = "MachineDeployment";
const FIRST_TYPE: &str = "sim.medium";
pub(super) const OTHER_TYPE: &str = "sim.large";

pub(super) struct Fleet {
    deployments: Api<MachineDeployment>,
    machines: Api<Machine>,
    nodes: Api<Node>,
    pods: Api<Pod>,
    cloud: Cloud,
    size: u32,
    kubeconfig: PathBuf,
}

impl Fleet {
    pub(super) async fn create(
        client: &Client,
        control_plane: &ControlPlane,
        cloud: Cloud,
        arguments: &PlaygroundArguments,
    ) -> anyhow::Result<Self> {
        let deployments = Api::namespaced(client.clone(), NAMESPACE);
        let deployment = sample(arguments.machines, arguments.fail)?;
        let created = deployments.create(&PostParams::default(), &deployment).await;
        created.with_context(|| messages::cannot("create", KIND, NAME))?;
        let checks = Api::<MachineHealthCheck>::namespaced(client.clone(), NAMESPACE);
        let created = checks.create(&PostParams::default(), &health_check()?).await;
        created.with_context(|| messages::cannot("create", "MachineHealthCheck", NAME))?;
        Ok(Self {
            deployments,
            machines: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::all(client.clone()),
            pods: Api::namespaced(client.clone(), NAMESPACE),
            cloud,
            size: arguments.machines,
            kubeconfig: control_plane.kubeconfig_path().to_owned(),
        })
    }

    pub(super) async fn table(&self, with_ages: bool) -> anyhow::Result<String> {
        let machines = self.machines.list(&ListParams::default()).await?.items;
        let table = view::table(&machines, jiff::Timestamp::now(), with_ages);
        let deployments = self.deployments.list(&ListParams::default()).await?.items;
        let deployments = view::deployments(&deployments);
        Ok(format!("{deployments}\n\n{table}\n\n{}", messages::instances(self.cloud.sim.live())))
    }

    /// The same for the live view.
    pub(super) async fn state(&self) -> anyhow::Result<FleetState> {
        let deployments = self.deployments.list(&ListParams::default()).await?.items;
        let machines = self.machines.list(&ListParams::default()).await?.items;
        Ok(FleetState {
            deployments: deployments.iter().map(view::deployment_row).collect(),
            progress: view::progress(&deployments),
            machines: machines.iter().map(view::machine_row).collect(),
            instances: self.cloud.sim.live(),
        })
    }

    async fn scale(&self, replicas: u32) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let scaled = self.deployments.patch_scale(NAME, &PatchParams::default(), &patch).await;
        scaled.with_context(|| messages::cannot("scale", KIND, NAME))?;
        Ok(())
    }

    /// Another type of instances, so that every machine is replaced.
    async fn resize(&self, instance_type: &str) -> anyhow::Result<()> {
        let machine = json!({"providerSpec": {"value": {"instanceType": instance_type}}});
        let patch = Patch::Merge(json!({"spec": {"template": {"spec": machine}}}));
        let patched = self.deployments.patch(NAME, &PatchParams::default(), &patch).await;
        patched.with_context(|| messages::cannot("patch", KIND, NAME))?;
        Ok(())
    }

    /// The types of instances that the machines ask for.
    async fn types(&self) -> anyhow::Result<BTreeSet<String>> {
        let machines = self.machines.list(&ListParams::default()).await?.items;
        let types = machines.iter().filter_map(|one| {
            let value = one.spec.provider_spec.as_ref()?.value.as_ref()?;
            Some(value["instanceType"].as_str()?.to_owned())
        });
        Ok(types.collect())
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

fn sample(replicas: u32, fail: Option<FailMode>) -> anyhow::Result<MachineDeployment> {
    let labels = json!({"app": NAME});
    let mut machine_labels = labels.clone();
    machine_labels[LABEL_CLUSTER] = json!("playground");
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": KIND,
        "metadata": {"name": NAME},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "remediation": {"maxInFlight": "50%"},
            "template": {
                "metadata": {"labels": machine_labels},
                "spec": {"providerSpec": {"value": {
                    "apiVersion": "sim.machinist.dev/v1beta1",
                    "kind": "SimMachineProviderConfig",
                    "instanceType": FIRST_TYPE,
                    "bootSeconds": 2,
                    "stopSeconds": 1,
                    "dataVolumeGiB": 10,
                    "failures": cloud::behaviour(fail).1,
                }}},
            },
        },
    }))?)
}

/// Replaces Machines whose instances have died, or whose Nodes are not ready. The startup timeout is off: in some
/// failure modes, no Machine ever has a Node.
fn health_check() -> anyhow::Result<MachineHealthCheck> {
    let bad = |status| json!({"type": "Ready", "status": status, "timeout": "10s"});
    Ok(serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineHealthCheck",
        "metadata": {"name": NAME},
        "spec": {
            "selector": {"matchLabels": {"app": NAME}},
            "maxUnhealthy": "100%",
            "nodeStartupTimeout": "0",
            "unhealthyConditions": [bad("False"), bad("Unknown")],
        },
    }))?)
}

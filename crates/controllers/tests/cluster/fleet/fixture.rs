//! A fleet: a namespace with one MachineSet, a cloud of its own, and the eyes and hands of a user.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Api, ResourceExt};
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::server::SimCloud;
use machinist_testbed::cluster;
use machinist_testbed::crash::World;
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll::eventually;
use serde_json::{Value, json};

use crate::definitions::{Served, control_plane};
use crate::fleet::process::{Process, SPEED, timings};
use crate::fleet::reading::{condition, is_alive, line, number, phase};

/// How long anything is waited for. It takes a few seconds on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// The name of the MachineSet.
pub(crate) const SET: &str = "workers";
/// What every instance has: a root volume and one that outlives it.
const VOLUMES: usize = 2;
/// On every Node of a machine: `namespace/name` of the machine.
const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";

pub(crate) struct Fleet {
    pub(crate) served: Served,
    world: World,
}

impl Fleet {
    /// On the API server that all tests share.
    pub(crate) async fn new(test: &str, served: Served) -> Result<Self> {
        Self::on(control_plane(served).await, test, served).await
    }

    pub(crate) async fn on(
        control_plane: &ControlPlane,
        test: &str,
        served: Served,
    ) -> Result<Self> {
        let config = control_plane.kube_config();
        let name: String = test.replace('_', "-").chars().take(40).collect();
        let world = World::new(&config, &name, PATIENCE).await?;
        Ok(Self { served, world: world.with_cloud(&config, SPEED).await? })
    }

    /// Starts the controllers, without leases.
    pub(crate) fn run(&self) -> Result<Process> {
        Process::start(&self.world.launch(), &timings(), false)
    }

    /// Starts the controllers, with leases and their own sync period.
    pub(crate) fn run_with(&self, sync_period: Duration) -> Result<Process> {
        let timings = machinist_runtime::timings::Timings { sync_period, ..timings() };
        Process::start(&self.world.launch(), &timings, true)
    }

    pub(crate) fn cloud(&self) -> &SimCloud {
        &self.world.cloud.as_ref().unwrap().sim
    }

    /// The way of the controllers to the API server and to the cloud. The user and the kubelets do not use it.
    pub(crate) fn proxy(&self) -> &Proxy {
        &self.world.proxy
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.world.namespace
    }

    pub(crate) fn machines(&self) -> Api<DynamicObject> {
        self.api(&cluster::machines())
    }

    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        self.api(&cluster::machine_sets())
    }

    fn api(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.world.client(), &self.world.namespace, kind)
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.world.client())
    }

    /// Creates the set; `extra` is merged into the spec of its machines.
    pub(crate) async fn create_set(&self, replicas: usize, extra: Value) -> Result<()> {
        let labels = json!({"set": SET, "machine.openshift.io/cluster-api-cluster": "test"});
        let mut machine = machine_spec(&json!({"dataVolumeGiB": 5}));
        machine.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": machine},
        });
        let set = DynamicObject::new(SET, &cluster::machine_sets()).data(json!({"spec": spec}));
        self.sets().create(&PostParams::default(), &set).await?;
        Ok(())
    }

    /// A machine that belongs to no set, as a user writes one.
    pub(crate) async fn create_machine(&self, name: &str, spec: Value) -> Result<()> {
        let mut machine =
            DynamicObject::new(name, &cluster::machines()).data(json!({"spec": spec}));
        let label = "machine.openshift.io/cluster-api-cluster".to_owned();
        machine.metadata.labels = Some([(label, "test".to_owned())].into());
        self.machines().create(&PostParams::default(), &machine).await?;
        Ok(())
    }

    pub(crate) async fn scale(&self, replicas: usize) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.sets().patch_scale(SET, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    pub(crate) async fn delete(&self, machine: &str) -> Result<()> {
        self.machines().delete(machine, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(crate) async fn patch(&self, machine: &str, patch: Value) -> Result<()> {
        self.machines().patch(machine, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// All machines, by name.
    pub(crate) async fn all(&self) -> Result<Vec<DynamicObject>> {
        let mut all = self.machines().list(&ListParams::default()).await?.items;
        all.sort_by_key(ResourceExt::name_any);
        Ok(all)
    }

    /// Waits until `wanted` holds of a machine.
    pub(crate) async fn until(
        &self,
        machine: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        eventually(PATIENCE, what, || async {
            let machine = self.machines().get(machine).await?;
            ensure!(wanted(&machine), "{}", serde_json::to_string(&machine)?);
            Ok(machine)
        })
        .await
    }

    pub(crate) async fn until_gone(&self, machine: &str) -> Result<()> {
        eventually(PATIENCE, "the machine is gone", || async {
            match self.machines().get_opt(machine).await? {
                None => Ok(()),
                Some(machine) => anyhow::bail!("{}", line(&machine)),
            }
        })
        .await
    }

    pub(crate) async fn until_set(
        &self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        eventually(PATIENCE, what, || async {
            let set = self.sets().get(SET).await?;
            ensure!(wanted(&set.data["status"]), "{}", set.data["status"]);
            Ok(())
        })
        .await
    }

    /// Waits until there are exactly so many machines, each with a node and an instance, and nothing else anywhere.
    pub(crate) async fn until_settled(&self, size: usize) -> Result<Vec<DynamicObject>> {
        let what = format!("{size} machines, and nothing else");
        eventually(PATIENCE, &what, || self.settled(size)).await
    }

    async fn settled(&self, size: usize) -> Result<Vec<DynamicObject>> {
        let machines = self.all().await?;
        let lines: Vec<_> = machines.iter().map(line).collect();
        let well = |one: &DynamicObject| {
            phase(one) == "Running" && condition(one, "Ready") == "True" && is_alive(one)
        };
        ensure!(machines.len() == size && machines.iter().all(well), "{lines:#?}");
        let nodes = self.own_nodes().await?;
        let linked = nodes.iter().filter(|node| node.annotations().contains_key(MACHINE_OF_NODE));
        let names = || nodes.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
        ensure!(
            nodes.len() == size && linked.count() == size,
            "nodes {:#?} for {lines:#?}",
            names()
        );
        let (live, volumes) = (self.cloud().live(), self.cloud().volumes());
        ensure!((live, volumes) == (size, size * VOLUMES), "{live} instances, {volumes} volumes");
        let set = self.sets().get(SET).await?;
        let counts = ["replicas", "readyReplicas", "availableReplicas"]
            .map(|name| number(&set.data["status"], name));
        let seen = set.data["status"]["observedGeneration"].as_i64() == set.metadata.generation;
        ensure!(seen && counts == [i64::try_from(size)?; 3], "{}", set.data["status"]);
        Ok(machines)
    }

    /// Nodes of this fleet's instances: other fleets may be on the same API server.
    pub(crate) async fn own_nodes(&self) -> Result<Vec<Node>> {
        let ours: Vec<_> = self.cloud().instances().into_iter().map(|one| one.id).collect();
        let nodes = self.nodes().list(&ListParams::default()).await?.items;
        Ok(nodes.into_iter().filter(|node| ours.contains(&node.name_any())).collect())
    }

    /// Name, reason and type of all Events in the namespace.
    pub(crate) async fn events(&self) -> Result<Vec<(String, String, String)>> {
        let events = Api::<Event>::namespaced(self.world.client(), &self.world.namespace);
        let mut told = Vec::new();
        for event in events.list(&ListParams::default()).await? {
            let about = event.regarding.and_then(|regarding| regarding.name);
            let about = about.context("an Event about nothing")?;
            let kind = event.type_.unwrap_or_default();
            told.push((about, event.reason.unwrap_or_default(), kind));
        }
        told.sort();
        Ok(told)
    }
}

/// The spec of a machine that the simulated cloud takes; `extra` is merged into its provider spec.
pub(crate) fn machine_spec(extra: &Value) -> Value {
    let mut spec = json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "zone": "a",
        "bootSeconds": 10,
    });
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"providerSpec": {"value": spec}})
}

/// The name of the Node that a machine says it has.
pub(crate) fn node_of(machine: &DynamicObject) -> &str {
    machine.data["status"]["nodeRef"]["name"].as_str().unwrap_or_default()
}

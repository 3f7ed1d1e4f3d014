//! A fleet: a world with one MachineSet on a simulated cloud, and all controllers of machines.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use machinist_control_plane::ControlPlane;
pub(crate) use machinist_testbed::world::PATIENCE;
use machinist_testbed::world::reading::{condition, line, runs};
use serde_json::{Value, json};

use crate::controllers::Setup;
use crate::definitions::{Served, control_plane};
use crate::fixture::Fixture;
use crate::fleet::timings::{SPEED, machine_timings, timings};
use crate::process::Process;

/// The name of the MachineSet.
pub(crate) const SET: &str = "workers";
/// What every instance has: a root volume and one that outlives it.
const VOLUMES: usize = 2;
/// On every Node of a machine: `namespace/name` of the machine.
const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";

pub(crate) struct Fleet(Fixture);

impl Deref for Fleet {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.0
    }
}

impl DerefMut for Fleet {
    fn deref_mut(&mut self) -> &mut Fixture {
        &mut self.0
    }
}

impl Fleet {
    /// On the API server that all tests share.
    pub(crate) async fn new(test: &str, served: Served) -> Result<Self> {
        Self::on(control_plane(served).await, test, served).await
    }

    /// With the controller of MachineDeployments, and the annotator.
    pub(crate) async fn with_deployments(test: &str) -> Result<Self> {
        Ok(Self::new(test, Served::Ours).await?.and_deployments())
    }

    /// With the controller of MachineDeployments and the annotator, too.
    pub(crate) fn and_deployments(mut self) -> Self {
        self.setup.controllers =
            &["annotator", "machine", "machineset", "machinedeployment", "nodelink"];
        self
    }

    pub(crate) async fn on(
        control_plane: &ControlPlane,
        test: &str,
        served: Served,
    ) -> Result<Self> {
        let controllers = &["machine", "machineset", "nodelink"];
        let setup = Setup::new(controllers, &timings(), machine_timings());
        let fixture = Fixture::on(control_plane, test, served, setup).await?;
        Ok(Self(fixture.with_cloud(SPEED).await?))
    }

    /// Starts the controllers, with leases and their own sync period.
    pub(crate) fn run_elected(&self, sync_period: Duration) -> Result<Process> {
        let timings = machinist_runtime::timings::Timings { sync_period, ..timings() };
        let setup = Setup { leader_elect: Some(true), timings, ..self.setup.clone() };
        Process::start(setup, &self.launch())
    }

    /// Creates the set; `extra` is merged into the spec of its machines.
    pub(crate) async fn create_workers(&self, replicas: usize, extra: Value) -> Result<()> {
        let labels = json!({"set": SET, "machine.openshift.io/cluster-api-cluster": "test"});
        let mut machine = machine_spec(&json!({"dataVolumeGiB": 5}));
        machine.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": machine},
        });
        self.create_machine_set(SET, json!({}), spec).await?;
        Ok(())
    }

    /// A machine that belongs to no set, as a user writes one.
    pub(crate) async fn create_bare_machine(&self, name: &str, spec: Value) -> Result<()> {
        let labels = json!({"machine.openshift.io/cluster-api-cluster": "test"});
        self.create_machine(name, json!({"labels": labels}), spec).await?;
        Ok(())
    }

    pub(crate) async fn scale_workers(&self, replicas: usize) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.sets().patch_scale(SET, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until there are exactly so many machines, each with a node and an instance, and nothing else anywhere.
    pub(crate) async fn until_settled(&self, size: usize) -> Result<Vec<DynamicObject>> {
        let what = format!("{size} machines, and nothing else");
        self.eventually(&what, || self.settled(size)).await
    }

    async fn settled(&self, size: usize) -> Result<Vec<DynamicObject>> {
        let machines = self.all_machines().await?;
        let lines: Vec<_> = machines.iter().map(line).collect();
        let well = |one: &DynamicObject| runs(one) && condition(one, "Ready") == "True";
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
            .map(|name| set.data["status"][name].as_i64().unwrap_or_default());
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

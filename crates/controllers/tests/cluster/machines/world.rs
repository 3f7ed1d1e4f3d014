//! One API server for all tests, with no other definition than that of Machines; each test has a namespace, a cloud
//! and a process of its own.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_controllers::kinds::Nodes;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{SimCloud, SimServer};
use machinist_runtime::cache::Scope;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::timings::Timings;
use machinist_testbed::cluster;
use machinist_testbed::poll::eventually;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::controllers::Setup;
use crate::definitions::{Served, control_plane};

/// Everything here takes a second or two on an idle machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A namespace, a cloud and the controllers.
pub(crate) struct World {
    pub(crate) served: Served,
    pub(crate) namespace: String,
    pub(crate) client: Client,
    pub(crate) cloud: SimCloud,
    /// How long things take in processes that are started from now on.
    pub(crate) timings: MachineTimings,
    config: kube::Config,
    server: SimServer,
    kubelets: Option<Kubelets>,
}

/// Controllers that run.
pub(crate) struct Process {
    stop: CancellationToken,
    running: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl Process {
    /// How often something was counted: the sum of all lines of a metric that have all of these words.
    pub(crate) fn count(&self, metric: &str, words: &[&str]) -> u64 {
        let text = self.shared.metrics.encode(&[]).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(metric));
        let counted = lines.filter(|line| words.iter().all(|word| line.contains(word)));
        counted.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }

    /// How many writes to Kubernetes were carried out.
    pub(crate) fn writes(&self) -> u64 {
        self.count("machinist_writes_total", &["result=\"done\""])
    }

    /// How many passes over machines there were.
    pub(crate) fn passes(&self) -> u64 {
        self.count("machinist_reconcile_total", &["controller=\"machine\""])
    }

    /// Whether its cache has this Node.
    pub(crate) fn sees_node(&self, name: &str) -> bool {
        let cluster = self.shared.target.as_ref().unwrap_or(&self.shared.control);
        let nodes = self.shared.caches.open(cluster, Scope::All, Nodes);
        nodes.get(&ObjectKey::new("", name)).is_some()
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

/// Fifty times faster than life, apart from what a busy machine would turn into a failure.
fn timings() -> MachineTimings {
    MachineTimings {
        creation: Duration::from_secs(3600),
        drain: Duration::from_secs(3600),
        ..MachineTimings::default().scaled(0.02)
    }
}

impl World {
    /// A world for the test of this name.
    pub(crate) async fn new(test: &str, served: Served) -> Result<Self> {
        let control_plane = control_plane(served).await;
        let client = control_plane.client()?;
        let namespace = cluster::namespace(&client, test).await?;
        let config = control_plane.kube_config();
        // Names of nodes come from the seed, and the tests share their cluster.
        let mix = |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte));
        let seed = namespace.bytes().fold(7, mix);
        let cloud = SimCloud::new(seed, 1.0);
        let sim = SimServer::start(&cloud).await?;
        let kubelets = Kubelets::start(&cloud, config.clone(), KubeletOptions::default())?;
        Ok(Self {
            served,
            namespace,
            client,
            cloud,
            timings: timings(),
            config,
            server: sim,
            kubelets: Some(kubelets),
        })
    }

    /// No Node is registered any more.
    pub(crate) fn stop_kubelets(&mut self) {
        self.kubelets = None;
    }

    /// Starts the machine and nodelink controllers.
    pub(crate) fn run(&self) -> Result<Process> {
        self.start(&["machine", "nodelink"], false)
    }

    /// Starts one of them alone.
    pub(crate) fn run_alone(&self, controller: &str) -> Result<Process> {
        self.start(&[controller], false)
    }

    /// Starts both controllers, which respect the authority that OpenShift sets.
    pub(crate) fn run_obedient(&self) -> Result<Process> {
        self.start(&["machine", "nodelink"], true)
    }

    fn start(&self, controllers: &[&str], obey_migration: bool) -> Result<Process> {
        let setup = Setup {
            controllers,
            endpoint: self.server.url(),
            namespace: &self.namespace,
            elects: false,
            identity: "test".to_owned(),
            workers: None,
            obey_migration,
            machines: self.timings,
        };
        let (manager, controllers) = setup.process(self.config.clone(), &Timings::default())?;
        let (stop, shared) = (CancellationToken::new(), Arc::clone(manager.shared()));
        let token = stop.clone();
        let running = tokio::spawn(async move { manager.run(controllers, token).await.unwrap() });
        Ok(Process { stop, running, shared })
    }

    pub(crate) fn machines(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machines())
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// A machine as a user writes one: without a finalizer.
    pub(crate) async fn create(&self, name: &str, spec: Value) -> Result<DynamicObject> {
        self.create_with(name, json!({"providerSpec": {"value": spec}}), json!({})).await
    }

    pub(crate) async fn create_with(
        &self,
        name: &str,
        spec: Value,
        annotations: Value,
    ) -> Result<DynamicObject> {
        let mut machine =
            DynamicObject::new(name, &cluster::machines()).data(json!({"spec": spec}));
        machine.metadata.labels =
            Some([("machine.openshift.io/cluster-api-cluster".to_owned(), "c".to_owned())].into());
        machine.metadata.annotations = Some(serde_json::from_value(annotations)?);
        Ok(self.machines().create(&PostParams::default(), &machine).await?)
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<()> {
        self.machines().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> Result<()> {
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Waits until `wanted` holds of a machine.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        eventually(PATIENCE, what, || async {
            let machine = self.machines().get(name).await?;
            ensure!(wanted(&machine), "{}", serde_json::to_string(&machine.data)?);
            Ok(machine)
        })
        .await
    }

    pub(crate) async fn until_phase(&self, name: &str, wanted: &str) -> Result<DynamicObject> {
        self.until(name, wanted, |machine| phase(machine) == wanted).await
    }

    pub(crate) async fn until_gone(&self, name: &str) -> Result<()> {
        eventually(PATIENCE, "the machine is gone", || async {
            match self.machines().get_opt(name).await? {
                None => Ok(()),
                Some(machine) => anyhow::bail!("{}", serde_json::to_string(&machine)?),
            }
        })
        .await
    }

    /// Waits for an Event about a machine, which comes after the status that says the same; returns the reasons of all
    /// there are.
    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> Result<Vec<String>> {
        eventually(PATIENCE, reason, || async {
            let reasons = self.events(name).await?;
            ensure!(reasons.iter().any(|one| one == reason), "{reasons:?}");
            Ok(reasons)
        })
        .await
    }

    /// The reasons of all Events about a machine, in no order.
    async fn events(&self, name: &str) -> Result<Vec<String>> {
        let events = Api::<Event>::namespaced(self.client.clone(), &self.namespace);
        let mut reasons = Vec::new();
        for event in events.list(&ListParams::default()).await? {
            let regarding = event.regarding.context("an Event about nothing")?;
            if regarding.name.as_deref() == Some(name) {
                reasons.push(event.reason.unwrap_or_default());
            }
        }
        reasons.sort();
        Ok(reasons)
    }
}

/// A spec that the simulated cloud takes, with more in it.
pub(crate) fn spec(extra: &Value) -> Value {
    let mut spec = json!({
        "apiVersion": "sim.machinist.dev/v1beta1",
        "kind": "SimMachineProviderConfig",
        "instanceType": "sim.small",
        "bootSeconds": 0,
    });
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    spec
}

pub(crate) fn phase(machine: &DynamicObject) -> &str {
    machine.data["status"]["phase"].as_str().unwrap_or_default()
}

/// Status and reason of a condition, such as `False/InstanceGone`.
pub(crate) fn condition(machine: &DynamicObject, kind: &str) -> String {
    let list = machine.data["status"]["conditions"].as_array();
    let found = list.and_then(|list| list.iter().find(|condition| condition["type"] == kind));
    let word =
        |name: &str| found.and_then(|condition| condition[name].as_str()).unwrap_or_default();
    match (word("status"), word("reason")) {
        (status, "") => status.to_owned(),
        (status, reason) => format!("{status}/{reason}"),
    }
}

pub(crate) fn message(machine: &DynamicObject, kind: &str) -> String {
    let list = machine.data["status"]["conditions"].as_array();
    let found = list.and_then(|list| list.iter().find(|condition| condition["type"] == kind));
    found.and_then(|condition| condition["message"].as_str()).unwrap_or_default().to_owned()
}

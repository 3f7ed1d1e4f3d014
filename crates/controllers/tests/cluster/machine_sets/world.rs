//! One API server for all tests; each has a namespace of its own, and processes that can be killed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use machinist_controllers::kinds::{MachineSets, Machines};
use machinist_controllers::machine_set::{MachineSetController, Settings};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::shape::Shape;
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::controller::start::Registration;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_testbed::cluster;
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll::eventually;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::definitions::{Served, control_plane};

/// How long anything is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// How long a lease lasts here.
const LEASE: Duration = Duration::from_secs(3);

/// Provider specs are not read here.
struct Unread;

impl SpecHalf for Unread {
    fn shape(&self, _: &RawValue) -> Result<Shape, SpecError> {
        Err(SpecError::Missing)
    }
}

/// Twenty times faster than life, apart from what a busy machine would turn into a failure.
pub(crate) fn timings() -> Timings {
    let fast = Timings::default().scaled(0.05);
    Timings { lease: LEASE, request: PATIENCE, list_page: PATIENCE, ..fast }
}

/// A namespace.
pub(crate) struct World {
    pub(crate) served: Served,
    pub(crate) namespace: String,
    pub(crate) client: Client,
    config: kube::Config,
    pub(crate) machine_timings: MachineTimings,
}

/// A process of its own, behind a proxy of its own: it can be killed, with requests under way.
pub(crate) struct Process {
    pub(crate) proxy: Proxy,
    pub(crate) identity: String,
    runtime: Option<Runtime>,
    stop: CancellationToken,
}

impl Process {
    /// As `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.runtime.take().unwrap().shutdown_background();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl World {
    /// A world for the test of this name.
    pub(crate) async fn new(test: &str, served: Served) -> Result<Self> {
        let control_plane = control_plane(served).await;
        let client = control_plane.client()?;
        let namespace = cluster::namespace(&client, test).await?;
        let config = control_plane.kube_config();
        let machine_timings = MachineTimings::default().scaled(0.05);
        Ok(Self { served, namespace, client, config, machine_timings })
    }

    /// A process that needs no lease.
    pub(crate) async fn run(&self) -> Result<Process> {
        self.run_with(&timings(), Some(false)).await
    }

    pub(crate) async fn run_with(
        &self,
        timings: &Timings,
        elects: Option<bool>,
    ) -> Result<Process> {
        let proxy = Proxy::start(&self.config).await?;
        self.run_behind(proxy, timings, elects)
    }

    pub(crate) fn run_behind(
        &self,
        proxy: Proxy,
        timings: &Timings,
        elects: Option<bool>,
    ) -> Result<Process> {
        let identity = format!("test-{}", proxy.url().rsplit(':').next().unwrap_or_default());
        let options = Options {
            scope: Scope::Namespace(self.namespace.clone()),
            leader_elect: elects,
            lease_namespace: self.namespace.clone(),
            take_over: false,
            identity: identity.clone(),
            workers: HashMap::new(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            health_address: "0".to_owned(),
        };
        let config = proxy.config("unused")?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (stop, timings) = (CancellationToken::new(), *timings);
        let machine_timings = self.machine_timings;
        let token = stop.clone();
        runtime.spawn(async move {
            let cluster = Cluster::new(config, &timings).unwrap();
            let target = Some(cluster.clone());
            let manager = Manager::new(cluster, target, options, Arc::new(SystemClock), timings);
            let settings = Settings { timings: machine_timings, ..Settings::default() };
            let specs: Arc<dyn SpecHalf> = Arc::new(Unread);
            let controller = Registration::new(move |shared| {
                let sets = MachineSets::new(Arc::clone(&specs));
                MachineSetController::new(shared, sets, Machines::new(specs), settings)
            });
            manager.run(vec![controller], token).await.unwrap();
        });
        Ok(Process { proxy, identity, runtime: Some(runtime), stop })
    }

    pub(crate) fn sets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machine_sets())
    }

    pub(crate) fn machines(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &cluster::machines())
    }

    /// A set that selects `set: <name>`; `patch` is merged into its spec.
    pub(crate) async fn create_set(
        &self,
        name: &str,
        replicas: i32,
        patch: Value,
    ) -> Result<DynamicObject> {
        let mut spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": {"set": name}},
            "template": {
                "metadata": {"labels": {"set": name, "extra": "1"}, "annotations": {"note": "x"}},
                "spec": {"providerSpec": {"value": {"kind": "Any", "odd": [1, {"deep": null}]}}},
            },
        });
        for (name, value) in patch.as_object().into_iter().flatten() {
            spec[name] = value.clone();
        }
        let set = DynamicObject::new(name, &cluster::machine_sets()).data(json!({"spec": spec}));
        Ok(self.sets().create(&PostParams::default(), &set).await?)
    }

    /// An orphan.
    pub(crate) async fn create_machine(
        &self,
        name: &str,
        set: &str,
        owners: Value,
    ) -> Result<DynamicObject> {
        let mut machine = DynamicObject::new(name, &cluster::machines()).data(json!({"spec": {}}));
        machine.metadata.labels = Some([("set".to_owned(), set.to_owned())].into());
        machine.metadata.owner_references = Some(serde_json::from_value(owners)?);
        Ok(self.machines().create(&PostParams::default(), &machine).await?)
    }

    pub(crate) async fn patch_set(&self, name: &str, patch: Value) -> Result<()> {
        self.sets().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub(crate) async fn scale(&self, name: &str, replicas: i32) -> Result<()> {
        self.patch_set(name, json!({"spec": {"replicas": replicas}})).await
    }

    pub(crate) async fn patch_machine(&self, name: &str, patch: Value) -> Result<()> {
        self.machines().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    pub(crate) async fn patch_machine_status(&self, name: &str, status: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "status": status }));
        self.machines().patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// All machines, by name; those that are being deleted stay, because their finalizer stays.
    pub(crate) async fn all_machines(&self) -> Result<Vec<DynamicObject>> {
        let mut all = self.machines().list(&ListParams::default()).await?.items;
        all.sort_by_key(ResourceExt::name_any);
        Ok(all)
    }

    /// Names of the machines that are not being deleted.
    pub(crate) async fn alive(&self) -> Result<Vec<String>> {
        let all = self.all_machines().await?.into_iter();
        Ok(all.filter(is_alive).map(|machine| machine.name_any()).collect())
    }

    pub(crate) async fn until_alive(&self, count: usize) -> Result<Vec<String>> {
        eventually(PATIENCE, &format!("{count} machines"), || async {
            let alive = self.alive().await?;
            ensure!(alive.len() == count, "{} machines: {alive:?}", alive.len());
            Ok(alive)
        })
        .await
    }

    /// Waits until `wanted` holds of a set.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        eventually(PATIENCE, what, || async {
            let set = self.sets().get(name).await?;
            ensure!(wanted(&set), "{}", serde_json::to_string(&set.data)?);
            Ok(set)
        })
        .await
    }

    /// Waits until the set says that it has acted upon its whole spec, and has nothing in the making.
    pub(crate) async fn until_settled(&self, name: &str) -> Result<DynamicObject> {
        self.until(name, "the set is settled", |set| {
            let window = set.annotations().get("machinist.dev/ordinals");
            let closed = window.is_none_or(|window| {
                window.split_once("..").is_some_and(|(from, next)| from == next)
            });
            closed
                && set.data["status"]["observedGeneration"].as_i64() == set.metadata.generation
                && set.data["status"]["replicas"] == set.data["spec"]["replicas"]
        })
        .await
    }

    /// What the machine controller does when an instance is gone.
    pub(crate) async fn bury(&self, name: &str) -> Result<()> {
        self.patch_machine(name, json!({"metadata": {"finalizers": null}})).await
    }

    /// Reasons and notes of all Events about a set.
    pub(crate) async fn events(&self, name: &str) -> Result<Vec<(String, String)>> {
        let events = Api::<Event>::namespaced(self.client.clone(), &self.namespace);
        let mut told = Vec::new();
        for event in events.list(&ListParams::default()).await? {
            let regarding = event.regarding.context("an Event about nothing")?;
            if regarding.name.as_deref() == Some(name) {
                told.push((event.reason.unwrap_or_default(), event.note.unwrap_or_default()));
            }
        }
        told.sort();
        Ok(told)
    }

    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> Result<String> {
        eventually(PATIENCE, reason, || async {
            let events = self.events(name).await?;
            let found = events.iter().find(|(found, _)| found == reason);
            Ok(found.with_context(|| format!("{events:?}"))?.1.clone())
        })
        .await
    }
}

pub(crate) fn is_alive(machine: &DynamicObject) -> bool {
    machine.metadata.deletion_timestamp.is_none()
}

/// A condition of an object, or null.
pub(crate) fn condition(object: &DynamicObject, kind: &str) -> Value {
    let list = object.data["status"]["conditions"].as_array();
    list.and_then(|list| list.iter().find(|condition| condition["type"] == kind).cloned())
        .unwrap_or_default()
}

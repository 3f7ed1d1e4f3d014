//! MachineSets without a machine controller: Machines get no instances, and those that are deleted stay until the test
//! removes their finalizer.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;
use machinist_control_plane::ControlPlane;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::timings::Timings;
use machinist_testbed::crash::Launch;
use machinist_testbed::faults::Proxy;
pub(crate) use machinist_testbed::world::PATIENCE;
use serde_json::{Value, json};

use crate::controllers::Setup;
use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::process::Process;

/// How long a lease lasts here.
const LEASE: Duration = Duration::from_secs(3);

/// Twenty times faster than life, apart from what a busy machine would turn into a failure.
fn timings() -> Timings {
    let fast = Timings::default().scaled(0.05);
    Timings { lease: LEASE, request: PATIENCE, list_page: PATIENCE, ..fast }
}

/// A world in which the MachineSet controller needs no lease.
pub(crate) async fn start(test: &str, served: Served) -> Result<Fixture> {
    let machines = MachineTimings::default().scaled(0.05);
    Fixture::new(test, served, Setup::new(&["machineset"], &timings(), machines)).await
}

/// The same on an API server of its own.
pub(crate) async fn start_on(
    control_plane: &ControlPlane,
    test: &str,
    served: Served,
) -> Result<Fixture> {
    let machines = MachineTimings::default().scaled(0.05);
    let setup = Setup::new(&["machineset"], &timings(), machines);
    Fixture::on(control_plane, test, served, setup).await
}

impl Fixture {
    /// Starts a process that needs a lease, behind a proxy of its own.
    pub(crate) fn run_elected(&self, proxy: &Proxy) -> Result<Process> {
        let identity = format!("test-{:x}", fastrand::u64(..));
        let setup = Setup { leader_elect: None, identity, ..self.setup.clone() };
        Process::start(setup, &Launch::new(proxy, &self.namespace))
    }

    /// A set that selects `set: <name>`; `patch` is merged into its spec.
    pub(crate) async fn create_sized_set(
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
        self.create_machine_set(name, json!({}), spec).await
    }

    /// A machine with the label of a set.
    pub(crate) async fn create_labelled_machine(
        &self,
        name: &str,
        set: &str,
        owners: Value,
    ) -> Result<DynamicObject> {
        let metadata = json!({"labels": {"set": set}, "ownerReferences": owners});
        self.create_machine(name, metadata, json!({})).await
    }

    pub(crate) async fn until_alive(&self, count: usize) -> Result<Vec<String>> {
        self.eventually(&format!("{count} machines"), || async {
            let alive = self.alive_machines().await?;
            ensure!(alive.len() == count, "{} machines: {alive:?}", alive.len());
            Ok(alive)
        })
        .await
    }

    /// Waits until the status shows that the whole spec is applied, and has nothing in the making.
    pub(crate) async fn until_settled(&self, name: &str) -> Result<DynamicObject> {
        self.until_set(name, "the set is settled", |set| {
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
}

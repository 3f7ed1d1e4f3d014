//! Machines on a simulated cloud, with the machine and nodelink controllers.

use std::time::Duration;

use anyhow::Result;
use kube::api::DynamicObject;
use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::timings::Timings;
pub(crate) use machinist_testbed::world::PATIENCE;
use serde_json::{Value, json};

use crate::controllers::Setup;
use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::process::Process;

/// Fifty times faster than life, apart from what a busy machine would turn into a failure.
pub(crate) fn timings() -> MachineTimings {
    MachineTimings {
        creation: Duration::from_secs(3600),
        drain: Some(Duration::from_secs(3600)),
        ..MachineTimings::default().scaled(0.02)
    }
}

/// A world in which OpenShift's authority over Machines is ignored.
pub(crate) async fn start(test: &str, served: Served) -> Result<Fixture> {
    let setup = Setup::new(&["machine", "nodelink"], &Timings::default(), timings());
    Fixture::new(test, served, setup).await?.with_cloud(1.0).await
}

/// Starts controllers that respect it.
pub(crate) fn obey(world: &Fixture) -> Result<Process> {
    Process::start(Setup { migration: Some(true), ..world.setup.clone() }, &world.launch())
}

impl Fixture {
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
        let labels = json!({"machine.openshift.io/cluster-api-cluster": "c"});
        let metadata = json!({"labels": labels, "annotations": annotations});
        self.create_machine(name, metadata, spec).await
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

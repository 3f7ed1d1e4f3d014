//! The controllers of machines as one process runs them, on the simulated cloud. Shared by several test binaries.

use std::sync::Arc;

use machinist_controllers::clouds::Clouds;
use machinist_controllers::kinds::{MachineSets, Machines};
use machinist_controllers::machine::{self, MachineController};
use machinist_controllers::machine_set::{self, MachineSetController};
use machinist_controllers::node_link::NodeLink;
use machinist_controllers::realms::SecretScope;
use machinist_controllers::secrets::ClusterSecrets;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::provider::Providers;
use machinist_provider::witness::Unwitnessed;
use machinist_provider_sim::SimProvider;
use machinist_runtime::controller::start::{Registration, Shared};

/// `machine`, `machineset` and `nodelink`, with the cloud at `endpoint`.
pub(crate) fn registrations(endpoint: String) -> Vec<Registration> {
    let providers = Providers::new(vec![Arc::new(SimProvider::at(endpoint))]);
    let sets = MachineSets::new(Arc::new(providers.clone())).with_children();
    let machines = Machines::new(Arc::new(providers.clone()));
    let (of_sets, linked) = (machines.clone(), machines.clone());
    vec![
        Registration::new(move |shared| {
            let settings = machine::Settings {
                clouds: Clouds::new(&providers, &parts(shared)),
                cluster_id: Some("test-cluster".into()),
                secrets: SecretScope::Named,
                obey_migration: false,
            };
            MachineController::new(shared, machines, settings)
        }),
        Registration::new(move |shared| {
            MachineSetController::new(shared, sets, of_sets, machine_set::Settings::default())
        }),
        Registration::new(move |shared| NodeLink::new(shared, linked)),
    ]
}

fn parts(shared: &Arc<Shared>) -> Parts {
    let (clock, tasks) = (Arc::clone(&shared.clock), shared.tasks.clone());
    Parts {
        secrets: Arc::new(ClusterSecrets::new(&shared.control)),
        platform: Arc::new(NoPlatform),
        witness: Arc::new(Unwitnessed),
        clock: Arc::new(move || clock.uptime()),
        spawn: Arc::new(move |task| tasks.spawn(task)),
        timings: CloudTimings {
            consistency: shared.timings.machines.consistency,
            request: shared.timings.cloud_call,
            ..CloudTimings::default()
        },
    }
}

//! The controllers of machines as one process runs them, on the simulated cloud. Shared by several test binaries.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use machinist_controllers::annotator::{self, Annotator};
use machinist_controllers::cloud_access::SecretScope;
use machinist_controllers::clouds::Clouds;
use machinist_controllers::health_check::HealthCheckController;
use machinist_controllers::kinds::{MachineDeployments, MachineSets, Machines};
use machinist_controllers::machine::{self, MachineController};
use machinist_controllers::machine_deployment::MachineDeploymentController;
use machinist_controllers::machine_set::{self, MachineSetController};
use machinist_controllers::node_link::NodeLink;
use machinist_controllers::secrets::ClusterSecrets;
use machinist_domain::capacity_annotations;
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_domain::safety::Limits;
use machinist_provider::metrics::NoMetrics;
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::platform::NoPlatform;
use machinist_provider::provider::Providers;
use machinist_provider_sim::SimProvider;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::controller::Controller as _;
use machinist_runtime::controller::start::{Registration, Shared};
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_testbed::crash::Launch;

/// Some of the controllers of machines, as one process runs them.
#[derive(Debug, Clone)]
pub(crate) struct Setup<'a> {
    /// By their names.
    pub(crate) controllers: &'a [&'a str],
    /// Whether leases are needed; by default, as each controller wants.
    pub(crate) leader_elect: Option<bool>,
    /// Who it is for the leases.
    pub(crate) identity: String,
    /// How many workers each controller has, if not its own number.
    pub(crate) workers: Option<usize>,
    /// Whether it respects the authority that OpenShift sets, if a flag says so.
    pub(crate) migration: Option<bool>,
    /// The durations of the process.
    pub(crate) timings: Timings,
    /// The durations of its controllers.
    pub(crate) machines: MachineTimings,
}

impl<'a> Setup<'a> {
    /// These controllers, without leases.
    pub(crate) fn new(
        controllers: &'a [&'a str],
        timings: &Timings,
        machines: MachineTimings,
    ) -> Self {
        Self {
            controllers,
            leader_elect: Some(false),
            identity: format!("test-{:x}", fastrand::u64(..)),
            workers: None,
            migration: None,
            timings: *timings,
            machines,
        }
    }

    /// The process, which does nothing until it is run with these controllers.
    pub(crate) fn process(self, launch: &Launch) -> Result<(Manager, Vec<Registration>)> {
        let options = Options {
            scope: Scope::Namespace(launch.namespace.clone()),
            leader_elect: self.leader_elect,
            lease_namespace: launch.namespace.clone(),
            take_over: false,
            identity: self.identity.clone(),
            workers: self.workers(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            secure_metrics: None,
            health_address: "0".to_owned(),
            limits: Limits::default(),
        };
        let timings = self.timings;
        let cluster = Cluster::new(launch.config()?, &timings)?;
        let target = Some(cluster.clone());
        let manager = Manager::new(cluster, target, options, Arc::new(SystemClock), timings);
        let controllers = self.registrations(launch.cloud.clone().unwrap_or_default())?;
        Ok((manager, controllers))
    }

    fn workers(&self) -> HashMap<String, usize> {
        let names = self.controllers.iter().map(|name| (*name).to_owned());
        self.workers.map(|count| names.map(|name| (name, count)).collect()).unwrap_or_default()
    }

    fn registrations(self, endpoint: String) -> Result<Vec<Registration>> {
        let (migration, timings) = (self.migration, self.machines);
        let providers = Providers::new(vec![Arc::new(SimProvider::at(endpoint))]);
        let sets = MachineSets::new(Arc::new(providers.clone()));
        let machines = Machines::new(Arc::new(providers.clone()));
        let deployments = MachineDeployments::new(Arc::new(providers.clone()));
        let one = |name: &&str| {
            let (providers, sets, machines) = (providers.clone(), sets.clone(), machines.clone());
            Ok(match *name {
                "annotator" => {
                    let deployments = deployments.clone();
                    let also = providers.clone();
                    Registration::new(move |shared| {
                        let settings = annotations(shared, &providers, &timings);
                        Annotator::new(shared, sets, settings)
                    })
                    .with_optional(move |shared| {
                        let settings = annotations(shared, &also, &timings);
                        Annotator::new(shared, deployments, settings)
                    })
                }
                MachineController::NAME => Registration::new(move |shared| {
                    let settings = machine::Settings {
                        clouds: Clouds::new(&providers, &parts(shared, &timings)),
                        cluster_id: Some("test-cluster".into()),
                        secrets: SecretScope::Named,
                        migration,
                        timings,
                        // No test waits for them, or has to be done before.
                        limits: MachineLimits::default(),
                    };
                    MachineController::new(shared, machines, settings)
                }),
                MachineSetController::NAME => Registration::new(move |shared| {
                    let settings = machine_set::Settings { migration, timings };
                    MachineSetController::new(shared, sets, machines, settings)
                }),
                MachineDeploymentController::NAME => {
                    let deployments = deployments.clone();
                    Registration::new(move |shared| {
                        MachineDeploymentController::new(
                            shared,
                            deployments,
                            sets,
                            machines,
                            timings,
                        )
                    })
                }
                HealthCheckController::NAME => {
                    let deployments = deployments.clone();
                    Registration::new(move |shared| {
                        HealthCheckController::new(shared, machines, sets, deployments, timings)
                    })
                }
                NodeLink::NAME => Registration::new(move |shared| NodeLink::new(shared, machines)),
                other => bail!("no controller is called {other}"),
            })
        };
        self.controllers.iter().map(one).collect()
    }
}

fn annotations(
    shared: &Arc<Shared>,
    providers: &Providers,
    timings: &MachineTimings,
) -> annotator::Settings {
    let parts = parts(shared, timings);
    let all = providers.iter().map(|provider| (provider.name(), provider.capacity(&parts)));
    annotator::Settings {
        options: capacity_annotations::Options::default(),
        capacities: all.collect(),
        migration: None,
        secrets: SecretScope::Named,
    }
}

fn parts(shared: &Arc<Shared>, machines: &MachineTimings) -> Parts {
    let (clock, tasks) = (Arc::clone(&shared.clock), shared.tasks.clone());
    Parts {
        secrets: Arc::new(ClusterSecrets::new(&shared.control)),
        platform: Arc::new(NoPlatform),
        metrics: Arc::new(NoMetrics),
        clock: Arc::new(move || clock.uptime()),
        spawn: Arc::new(move |task| tasks.spawn("provider", task)),
        timings: CloudTimings {
            consistency: machines.consistency,
            request: shared.timings.cloud_call,
            ..CloudTimings::default()
        },
    }
}

//! Builds the controllers with the providers of this binary.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machinist_aws_spec::{AwsSpecs, PROVIDER, catalogue};
use machinist_controllers::DECLARATIONS;
use machinist_controllers::annotator::{self, Annotator};
use machinist_controllers::clouds::Clouds;
use machinist_controllers::drain::Timeout;
use machinist_controllers::health_check::HealthCheckController;
use machinist_controllers::kinds::{MachineDeployments, MachineSets, Machines, NoState, State};
use machinist_controllers::machine::{self, MachineController};
use machinist_controllers::machine_deployment::MachineDeploymentController;
use machinist_controllers::machine_set::{self, MachineSetController};
use machinist_controllers::node_link::NodeLink;
use machinist_controllers::platform::rule::{Choice, PlatformRule};
use machinist_controllers::recycler::RecyclerController;
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_provider::capacity::Capacities;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Providers;
use machinist_provider::spec::SpecHalf;
use machinist_runtime::controller::start::{Registration, Shared};

use crate::annotator::{AnnotatorArguments, Source};
use crate::cli::RunArguments;
use crate::parts;
use crate::recycler;
use crate::verbs::run::messages;

#[derive(Debug, Clone)]
pub(crate) struct Wiring {
    pub(crate) arguments: RunArguments,
    pub(crate) providers: Providers,
    pub(crate) platform: Choice,
}

impl Wiring {
    /// `with_machine_sets`: a controller of MachineSets will run, so the shared cache stores what it reads.
    fn all(&self, with_machine_sets: bool) -> Vec<Registration> {
        let specs = self.providers.clone().with_specs(PROVIDER, Arc::new(AwsSpecs));
        let specs: Arc<dyn SpecHalf> = Arc::new(specs);
        let sets = MachineSets::new(Arc::clone(&specs));
        let deployments = MachineDeployments::new(Arc::clone(&specs));
        let annotator = if with_machine_sets {
            self.annotator(sets.clone(), deployments.clone())
        } else {
            self.annotator(MachineSets::<NoState>::new(Arc::clone(&specs)), deployments.clone())
        };
        let machines = Machines::new(specs);
        vec![
            annotator,
            self.machine(machines.clone()),
            self.machine_set(sets.clone(), machines.clone()),
            self.machine_deployment(deployments.clone(), sets.clone(), machines.clone()),
            {
                let machines = machines.clone();
                Registration::new(move |shared| NodeLink::new(shared, machines))
            },
            self.health_check(deployments, sets, machines),
            self.recycler(),
        ]
    }

    fn annotator<S: State>(
        &self,
        sets: MachineSets<S>,
        deployments: MachineDeployments,
    ) -> Registration {
        let (wiring, also) = (self.clone(), self.clone());
        Registration::new(move |shared| {
            Annotator::new(shared, sets, wiring.annotator_settings(shared))
        })
        .with_optional(move |shared| {
            Annotator::new(shared, deployments, also.annotator_settings(shared))
        })
    }

    fn annotator_settings(&self, shared: &Arc<Shared>) -> annotator::Settings {
        let flags = &self.arguments.annotator;
        annotator::Settings {
            options: flags.annotations.options(),
            capacities: capacities(flags, &self.providers, &parts::of(shared, &self.timings())),
            migration: flags.migration(),
            secrets: flags.secrets(),
        }
    }

    fn machine(&self, machines: Machines) -> Registration {
        let wiring = self.clone();
        Registration::new(move |shared| {
            MachineController::new(shared, machines, wiring.machine_settings(shared))
        })
    }

    fn machine_settings(&self, shared: &Arc<Shared>) -> machine::Settings {
        let names = self.providers.iter().map(|provider| provider.name()).collect();
        let rule = PlatformRule::new(shared, self.platform.clone(), names);
        rule.start();
        let (flags, timings) = (&self.arguments, self.timings());
        machine::Settings {
            clouds: Clouds::new(&self.providers, &parts::of(shared, &timings)).under(rule),
            cluster_id: flags.machines.cluster_id.as_deref().map(Arc::from),
            secrets: flags.annotator.secrets(),
            migration: flags.annotator.migration(),
            timings,
            limits: MachineLimits::default().scaled(flags.time_scale),
        }
    }

    fn machine_set(&self, sets: MachineSets, machines: Machines) -> Registration {
        let migration = self.arguments.annotator.migration();
        let settings = machine_set::Settings { migration, timings: self.timings() };
        Registration::new(move |shared| MachineSetController::new(shared, sets, machines, settings))
    }

    fn machine_deployment(
        &self,
        deployments: MachineDeployments,
        sets: MachineSets,
        machines: Machines,
    ) -> Registration {
        let timings = self.timings();
        Registration::new(move |shared| {
            MachineDeploymentController::new(shared, deployments, sets, machines, timings)
        })
    }

    fn health_check(
        &self,
        deployments: MachineDeployments,
        sets: MachineSets,
        machines: Machines,
    ) -> Registration {
        let timings = self.timings();
        Registration::new(move |shared| {
            HealthCheckController::new(shared, machines, sets, deployments, timings)
        })
    }

    fn recycler(&self) -> Registration {
        let (providers, time_scale) = (self.providers.clone(), self.arguments.time_scale);
        Registration::new(move |shared| {
            RecyclerController::new(shared, recycler::settings(&providers, shared, time_scale))
        })
    }

    fn timings(&self) -> MachineTimings {
        let Timeout(drain) = self.arguments.machines.drain_timeout;
        MachineTimings { drain, ..MachineTimings::default().scaled(self.arguments.time_scale) }
    }

    /// The controllers of `--controllers`; an error names one that does not exist.
    pub(crate) fn select(&self) -> Result<Vec<Registration>, String> {
        let names = &self.arguments.controllers;
        let wanted: BTreeSet<&str> = names.iter().map(|name| name.trim()).collect();
        let everything = wanted.contains("all");
        let readers = ["machineset", "machinedeployment", "healthcheck"];
        let reads_sets = readers.iter().any(|name| wanted.contains(name));
        let all = self.all(everything || reads_sets);
        let known: Vec<_> = DECLARATIONS.iter().map(|controller| controller.name).collect();
        let unknown = |name: &&&str| **name != "all" && !known.contains(*name);
        if let Some(name) = wanted.iter().find(unknown) {
            return Err(messages::unknown_controller(name, &known));
        }
        Ok(all
            .into_iter()
            .filter(|one| everything || wanted.contains(one.declaration.name))
            .collect())
    }
}

/// Where the annotator finds capacities, by provider. `--instance-types` chooses among the sources for AWS; the other
/// providers have no such choice. Without the AWS provider, specs of AWS are annotated from the catalogue.
fn capacities(
    flags: &AnnotatorArguments,
    providers: &Providers,
    parts: &Parts,
) -> HashMap<&'static str, Capacities> {
    let mut all = HashMap::new();
    for provider in providers.iter() {
        all.entry(provider.name()).or_insert_with(|| provider.capacity(parts));
    }
    let aws = all.entry(PROVIDER).or_default();
    aws.catalogue = flags.asks(Source::Catalogue).then_some(catalogue::capacity);
    #[cfg(feature = "aws")]
    if !flags.asks(Source::Ec2) {
        aws.cloud = None;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use machinist_domain::safety::Limits;
    use machinist_runtime::cache::Scope;
    use machinist_runtime::clock::SystemClock;
    use machinist_runtime::cluster::Cluster;
    use machinist_runtime::manager::{Manager, Options};
    use machinist_runtime::timings::Timings;

    use super::*;

    fn wiring(flags: &[&str]) -> Wiring {
        let (providers, platform) = (Providers::default(), Choice::NoProvider);
        Wiring { arguments: RunArguments::parse(flags).unwrap(), providers, platform }
    }

    fn names(list: &[&str]) -> Result<Vec<&'static str>, String> {
        let selected = wiring(&["--controllers", &list.join(",")]).select()?;
        Ok(selected.iter().map(|controller| controller.declaration.name).collect())
    }

    #[test]
    fn controllers_are_chosen_by_name_once_each() {
        assert_eq!(names(&["annotator", " annotator"]), Ok(vec!["annotator"]));
        let declared: Vec<_> = DECLARATIONS.iter().map(|one| one.name).collect();
        assert_eq!(names(&["all"]), Ok(declared));
        assert!(names(&["annotator", "x"]).unwrap_err().contains("valid names are all, annotator"));
    }
    #[tokio::test]
    async fn flags_reach_the_machine_controller() {
        let options = Options {
            scope: Scope::All,
            leader_elect: None,
            lease_namespace: "ns".to_owned(),
            take_over: false,
            identity: "test".to_owned(),
            workers: HashMap::new(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            secure_metrics: None,
            health_address: "0".to_owned(),
            limits: Limits::default(),
        };
        let timings = Timings::default();
        let (cluster, clock) = (Cluster::absent(&timings).unwrap(), Arc::new(SystemClock));
        let process = Manager::new(cluster, None, options, clock, timings);
        let settings = |flags: &[&str]| wiring(flags).machine_settings(process.shared());
        assert_eq!(settings(&[]).timings, MachineTimings::default());
        assert_eq!(settings(&[]).limits, MachineLimits::default());
        assert_eq!(settings(&[]).cluster_id, None);
        let flags = ["--drain-timeout=30m", "--cluster-id=c", "--time-scale=0.5"];
        let (expected, half) = (Duration::from_mins(30), MachineTimings::default().scaled(0.5));
        let settings = settings(&flags);
        assert_eq!(settings.timings.drain, Some(expected), "it is not scaled");
        assert_eq!(settings.timings, MachineTimings { drain: Some(expected), ..half });
        assert_eq!(settings.cluster_id.as_deref(), Some("c"));
        let never = wiring(&["--drain-timeout=never"]).timings();
        assert_eq!(never.drain, None);
    }
}

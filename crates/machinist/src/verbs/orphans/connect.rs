//! Cluster and clouds as the controllers reach them, for one command.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use machinist_aws_spec::{AwsSpecs, PROVIDER};
use machinist_controllers::cloud_access::SecretScope;
use machinist_controllers::clouds::Clouds;
use machinist_controllers::kinds::{MachineSets, Machines};
use machinist_controllers::orphans::{Finder, Settings};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::safety::Limits;
use machinist_provider::provider::Providers;
use machinist_provider::spec::SpecHalf;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::cluster::config::{self, ClusterFlags, Environment, TargetChoice};
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;

use super::arguments::OrphanArguments;
use crate::exit::Usage;
use crate::parts;

const PARTY: &str = "orphans";

pub(super) struct Connected {
    pub(super) finder: Finder,
    pub(super) writer: Writer,
}

impl Connected {
    /// Sends nothing.
    pub(super) async fn new(
        arguments: &OrphanArguments,
        providers: &Providers,
    ) -> anyhow::Result<Self> {
        let flags = ClusterFlags {
            control: arguments.control_kubeconfig.clone(),
            target: arguments.target_kubeconfig.clone(),
            kubeconfig: arguments.kubeconfig.clone().map(Into::into),
            context: arguments.context.clone(),
        };
        let choice = config::resolve(&flags, &Environment::of_process()).await.context(Usage)?;
        let timings = Timings::default();
        let control = Cluster::new(choice.control, &timings).context("control cluster")?;
        let target = match choice.target {
            TargetChoice::Same => Some(control.clone()),
            TargetChoice::Other(config) => {
                Some(Cluster::new(*config, &timings).context("target cluster")?)
            }
            TargetChoice::None => None,
        };
        let scope = arguments.namespace.clone().map_or(Scope::All, Scope::Namespace);
        let clock = Arc::new(SystemClock);
        let manager = Manager::new(control, target, options(scope), clock, timings);
        let shared = manager.shared();
        let specs = providers.clone().with_specs(PROVIDER, Arc::new(AwsSpecs));
        let specs: Arc<dyn SpecHalf> = Arc::new(specs);
        let parts = parts::of(shared, &MachineTimings::default());
        let settings = Settings {
            clouds: Clouds::new(providers, &parts),
            cluster_id: arguments.cluster_id.as_deref().map(Arc::from),
            secrets: SecretScope::Named,
        };
        let sets = MachineSets::new(Arc::clone(&specs));
        let finder = Finder::new(shared, Machines::new(specs), sets, settings);
        let session = shared.control.session(UserAgent::of(PARTY));
        let gateway = Arc::clone(&shared.gateway);
        let writer = Writer::new(gateway, session, PARTY, Leadership::NotNeeded);
        Ok(Self { finder, writer })
    }
}

/// Nothing is served, and no controller runs.
fn options(scope: Scope) -> Options {
    Options {
        scope,
        leader_elect: Some(false),
        lease_namespace: String::new(),
        take_over: false,
        identity: PARTY.to_owned(),
        workers: HashMap::new(),
        dry_run: false,
        metrics_address: "0".to_owned(),
        secure_metrics: None,
        health_address: "0".to_owned(),
        limits: Limits::default(),
    }
}

//! The stages of one settled reconcile run in this process, on this thread, because the allocator counts per thread. A
//! settled reconcile has nothing to wait for, so a stage that is not done at once is an error.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::FutureExt;
use machinist_aws_spec::{AwsSpecs, PROVIDER, catalogue};
use machinist_controllers::annotator::{Annotator, Settings};
use machinist_controllers::cloud_access::SecretScope;
use machinist_controllers::kinds::{MachineSets, NoState};
use machinist_domain::capacity_annotations;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::ReconcileResult;
use machinist_domain::safety::Limits;
use machinist_provider::capacity::{
    Capacities, CapacitySource, Listener, ObservedCapacity, Question,
};
use machinist_provider::provider::Providers;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::{Clock, SystemClock};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::controller::Controller;
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;
use tokio::task::coop::unconstrained;

const RECONCILES: usize = 1000;

pub(crate) async fn per_settled_reconcile(config: kube::Config, namespace: &str) -> Result<f64> {
    let timings = Timings::default();
    let options = Options {
        scope: Scope::Namespace(namespace.to_owned()),
        leader_elect: None,
        lease_namespace: namespace.to_owned(),
        take_over: false,
        identity: "bench".to_owned(),
        workers: HashMap::new(),
        dry_run: true,
        metrics_address: "0".to_owned(),
        secure_metrics: None,
        health_address: "0".to_owned(),
        limits: Limits::default(),
    };
    let control = Cluster::new(config, &timings)?;
    let manager = Manager::new(control, None, options, Arc::new(SystemClock), timings);
    let shared = manager.shared();
    let specs = Providers::default().with_specs(PROVIDER, Arc::new(AwsSpecs));
    let sets = MachineSets::<NoState>::new(Arc::new(specs));
    let aws = Capacities { cloud: Some(Arc::new(Settled)), catalogue: Some(catalogue::capacity) };
    let settings = Settings {
        options: capacity_annotations::Options::default(),
        capacities: HashMap::from([(PROVIDER, aws)]),
        migration: None,
        secrets: SecretScope::Named,
    };
    let annotator = Annotator::new(shared, sets, settings);
    let writer = Writer::new(
        shared.gateway.clone(),
        shared.control.session(UserAgent::of(<Annotator>::NAME)),
        <Annotator>::NAME,
        Leadership::NotNeeded,
    );
    let mut keys = Vec::new();
    for cache in annotator.caches() {
        cache.wait_synced().await;
        keys.extend(cache.keys());
    }
    let first = keys.first().context("there are no objects to reconcile")?;
    // The first reconcile waits for the Secret.
    annotator.observe(first).await?;

    let mut result = Ok(());
    let counted = allocation_counter::measure(|| {
        result = keys
            .iter()
            .cycle()
            .take(RECONCILES)
            .try_for_each(|key| reconcile(&annotator, key, &writer));
    });
    result?;
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    Ok(counted.count_total as f64 / RECONCILES as f64)
}

/// Its answers are those of EC2, otherwise the sets would not be settled.
#[derive(Debug)]
struct Settled;

impl CapacitySource for Settled {
    fn look(&self, question: &Question) -> ObservedCapacity {
        catalogue::capacity(&question.instance_type)
            .map_or(ObservedCapacity::Absent, ObservedCapacity::Present)
    }

    fn forget(&self, _: &ObjectKey) {}

    fn listen(&self, _: Listener) {}
}

fn reconcile<C: Controller>(controller: &C, key: &ObjectKey, writer: &Writer) -> Result<()> {
    let waits = "a settled reconcile waits for something";
    let now = SystemClock.now();
    // Unconstrained: tokio's cooperative budget would make this task wait for a turn.
    let observed = unconstrained(controller.observe(key)).now_or_never().context(waits)?;
    let snapshot = observed?.context("an object is gone")?;
    let plan = controller.decide(&snapshot, now);
    let acted = controller.act(&snapshot, &plan, writer).now_or_never();
    let report = controller.report(&snapshot, &plan, &acted.context(waits)?, now);
    ensure!(report.result == ReconcileResult::Settled, "{key} is not settled: {plan}");
    Ok(())
}

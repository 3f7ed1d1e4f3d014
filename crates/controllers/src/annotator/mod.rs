//! Writes the capacity of a MachineSet's instance type onto the MachineSet, so that cluster-autoscaler can scale it
//! from zero. Input: MachineSets, and the capacities of their providers. Output: annotations and Events. It creates and
//! deletes nothing, so it can run beside any other controller and needs no lease.

mod act;
mod decide;
mod declaration;
mod error;
mod messages;
mod metrics;
mod observe;
mod plan;
#[cfg(test)]
mod properties;
mod report;
mod snapshot;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_provider::capacity::Capacities;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::Writer;

use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::metrics::AnnotatorMetrics;
use self::plan::{Annotation, Outcome, Plan};
use self::report::report;
use self::snapshot::Snapshot;
use crate::cloud_access::{CloudAccessResolver, SecretScope};
use crate::kinds::{MachineSetState, MachineSets, State};
use crate::migration::MigrationGate;
use crate::openshift::{OpenShift, Rival};

#[derive(Debug, Clone)]
pub struct Settings {
    pub options: Options,
    /// Where capacities come from, by the name of the provider.
    pub capacities: HashMap<&'static str, Capacities>,
    /// The feature gate MachineAPIMigration, if a flag sets it: whether `authoritativeAPI` is obeyed.
    pub migration: Option<bool>,
    pub secrets: SecretScope,
}

/// The annotator. `S` is what the cache of MachineSets stores for the other controllers of the process.
#[derive(Debug)]
pub struct Annotator<S: State = Arc<MachineSetState>> {
    sets: Arc<Cache<MachineSets<S>>>,
    access: CloudAccessResolver<MachineSets<S>>,
    rival: Rival,
    migration: MigrationGate,
    settings: Settings,
    metrics: Arc<AnnotatorMetrics>,
}

impl<S: State> Annotator<S> {
    pub fn new(shared: &Arc<Shared>, kind: MachineSets<S>, settings: Settings) -> Self {
        let sets = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        let openshift = OpenShift::new(shared);
        let access = CloudAccessResolver::new(shared, &openshift, settings.secrets, &sets, |set| {
            set.shape.as_deref().ok()
        });
        for (provider, capacities) in &settings.capacities {
            let Some(cloud) = &capacities.cloud else { continue };
            let (provider, sets, requeue) = (*provider, Arc::clone(&sets), access.requeue());
            cloud.listen(Box::new(move |_access, types| {
                let concerned = sets.select(|set| {
                    let shape = set.shape.as_ref();
                    set.provider == Some(provider)
                        && shape.is_ok_and(|shape| types.contains(&shape.instance_type))
                });
                for key in &concerned {
                    requeue(key);
                }
            }));
        }
        let migration = MigrationGate::new(shared, &openshift, Self::NAME, settings.migration);
        let rival = Rival::new(shared, openshift);
        Self { sets, access, rival, migration, settings, metrics: shared.metrics.of() }
    }

    /// Closes the watches of unused Secrets, and drops the answers that were asked for with them.
    fn release_secrets(&self, key: &ObjectKey) {
        for secret in self.access.release_secrets(key) {
            for cloud in self.settings.capacities.values().filter_map(|one| one.cloud.as_ref()) {
                cloud.forget(&secret);
            }
        }
    }
}

impl<S: State> Controller for Annotator<S> {
    type Snapshot = Snapshot<S>;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.sets.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        self.access.subscribe(queue);
        self.migration.subscribe(queue, &self.sets);
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot<S>>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot<S>, _now: Timestamp) -> Plan {
        decide(snapshot)
    }

    async fn act(&self, snapshot: &Snapshot<S>, plan: &Plan, writer: &Writer) -> Outcome {
        if let Plan::Annotate(Annotation { fallback: Some(failure), .. }) = plan {
            self.metrics.catalogue_answered(failure.category.as_str());
        }
        act::act(&self.sets, snapshot, plan, writer).await
    }

    fn report(&self, _: &Snapshot<S>, plan: &Plan, outcome: &Outcome, _: Timestamp) -> Report {
        report(plan, outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot<S>) -> Regarding<'a> {
        Regarding { resource: MACHINE_SETS, meta: &snapshot.meta }
    }
}

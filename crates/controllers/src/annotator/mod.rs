//! Writes the capacity of a Machine onto its MachineSet or MachineDeployment, so that cluster-autoscaler can scale it
//! from zero. Input: objects of one kind, and the capacities of their providers. Output: annotations and Events. It
//! creates and deletes nothing, so it can run beside any other controller and needs no lease.

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
use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_provider::capacity::Capacities;
use machinist_runtime::cache::kind::Kind;
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
use crate::kinds::{AsScalable, MachineSets};
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

/// The annotator of one kind: MachineSets or MachineDeployments.
#[derive(Debug)]
pub struct Annotator<K: Kind = MachineSets> {
    objects: Arc<Cache<K>>,
    access: CloudAccessResolver<K>,
    rival: Rival,
    migration: MigrationGate,
    settings: Settings,
    metrics: Arc<AnnotatorMetrics>,
}

impl<K: Kind<Stored: AsScalable>> Annotator<K> {
    pub fn new(shared: &Arc<Shared>, kind: K, settings: Settings) -> Self {
        let objects = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        let openshift = OpenShift::new(shared);
        let access =
            CloudAccessResolver::new(shared, &openshift, settings.secrets, &objects, |object| {
                object.scalable().shape.as_deref().ok()
            });
        for (provider, capacities) in &settings.capacities {
            let Some(cloud) = &capacities.cloud else { continue };
            let (provider, objects, requeue) = (*provider, Arc::clone(&objects), access.requeue());
            cloud.listen(Box::new(move |_access, types| {
                let concerned = objects.select(|object| {
                    let scalable = object.scalable();
                    let shape = scalable.shape.as_ref();
                    scalable.provider == Some(provider)
                        && shape.is_ok_and(|shape| types.contains(&shape.instance_type))
                });
                for key in &concerned {
                    requeue(key);
                }
            }));
        }
        let migration = MigrationGate::new(shared, &openshift, Self::NAME, settings.migration);
        let rival = Rival::new(shared, openshift);
        Self { objects, access, rival, migration, settings, metrics: shared.metrics.of() }
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

impl<K: Kind<Stored: AsScalable>> Controller for Annotator<K> {
    type Snapshot = Snapshot<K::Stored>;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = Declaration { requires: &[K::RESOURCE], ..DECLARATION };

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.objects.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        self.access.subscribe(queue);
        self.migration.subscribe(queue, &self.objects);
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot<K::Stored>>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot<K::Stored>, _now: Timestamp) -> Plan {
        decide(snapshot)
    }

    async fn act(&self, snapshot: &Snapshot<K::Stored>, plan: &Plan, writer: &Writer) -> Outcome {
        if let Plan::Annotate(Annotation { fallback: Some(failure), .. }) = plan {
            self.metrics.catalogue_answered(failure.category.as_str());
        }
        act::act(&self.objects, snapshot, plan, writer).await
    }

    fn report(
        &self,
        _: &Snapshot<K::Stored>,
        plan: &Plan,
        outcome: &Outcome,
        _: Timestamp,
    ) -> Report {
        report(plan, outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot<K::Stored>) -> Regarding<'a> {
        Regarding { resource: K::RESOURCE, meta: &snapshot.meta }
    }
}

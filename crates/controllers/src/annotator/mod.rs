//! The annotator: writes the capacity of a MachineSet's instance type onto the MachineSet, so that cluster-autoscaler
//! can scale it from zero.
//!
//! Input: MachineSets, and the capacities that the provider of each spec reports. Output: annotations and Events. It
//! creates and deletes nothing, so it can run beside any other controller and needs no lease.

mod act;
#[cfg(test)]
mod any_spec;
mod decide;
mod declaration;
mod error;
mod messages;
mod metrics;
mod observe;
mod plan;
mod report;
mod snapshot;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_provider::capacity::Capacities;
use machinist_runtime::cache::store::Entry;
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
use crate::cloud_access::released_secrets::ReleasedSecrets;
use crate::cloud_access::{CloudAccessResolver, Concern, SecretScope};
use crate::kinds::{MachineSet, MachineSetState, MachineSets, State};
use crate::openshift::{OpenShift, Rival};

/// Settings of the annotator.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What to write.
    pub options: Options,
    /// Where capacities come from, by the name of the provider.
    pub capacities: HashMap<&'static str, Capacities>,
    /// Whether to leave objects alone that another machine API manages.
    pub obey_migration: bool,
    /// How Secrets are watched.
    pub secrets: SecretScope,
}

/// The annotator. `S` is what the cache of MachineSets stores for the other controllers of the process.
#[derive(Debug)]
pub struct Annotator<S: State = Arc<MachineSetState>> {
    sets: Arc<Cache<MachineSets<S>>>,
    access: CloudAccessResolver,
    rival: Rival,
    settings: Settings,
    metrics: Arc<AnnotatorMetrics>,
    released_secrets: Arc<ReleasedSecrets>,
    /// Set when the driver subscribes.
    queue: Arc<OnceLock<Arc<Queue>>>,
}

impl<S: State> Annotator<S> {
    /// An annotator of the MachineSets that `kind` parses.
    pub fn new(shared: &Arc<Shared>, kind: MachineSets<S>, settings: Settings) -> Self {
        let sets = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        let queue = Arc::<OnceLock<Arc<Queue>>>::default();
        let requeue = {
            let (sets, queue) = (Arc::clone(&sets), Arc::clone(&queue));
            Arc::new(move |wanted: &dyn Fn(&MachineSet<S>) -> bool| {
                if let Some(queue) = queue.get() {
                    sets.select(wanted).iter().for_each(|key| queue.add(key));
                }
            })
        };
        for (provider, capacities) in &settings.capacities {
            let Some(cloud) = &capacities.cloud else { continue };
            let (provider, requeue) = (*provider, Arc::clone(&requeue));
            cloud.listen(Box::new(move |_access, types| {
                requeue(&|set| {
                    let shape = set.shape.as_ref();
                    set.provider == Some(provider)
                        && shape.is_ok_and(|shape| types.contains(&shape.instance_type))
                });
            }));
        }
        let openshift = OpenShift::new(shared);
        let rival = Rival::new(shared, openshift.clone());
        let access = CloudAccessResolver::new(
            shared,
            &openshift,
            settings.secrets,
            Arc::new(move |concern| match concern {
                Concern::All => requeue(&|_| true),
                Concern::Secret(key) => requeue(&|set| secret_of(set).as_ref() == Some(&key)),
            }),
        );
        let (metrics, released_secrets) = (shared.metrics.set(), Arc::default());
        Self { sets, access, rival, settings, metrics, released_secrets, queue }
    }

    /// Closes the watches of Secrets that no MachineSet names any more, and drops the answers that were asked for
    /// with them.
    fn release_secrets(&self, key: &ObjectKey) {
        for secret in self.released_secrets.take(key) {
            if self.sets.select(|set| secret_of(set).as_ref() == Some(&secret)).is_empty() {
                self.access.release(&secret);
                for capacities in self.settings.capacities.values() {
                    if let Some(cloud) = &capacities.cloud {
                        cloud.forget(&secret);
                    }
                }
            }
        }
    }
}

fn secret_of<S>(set: &MachineSet<S>) -> Option<ObjectKey> {
    let name = set.shape.as_ref().ok()?.credentials_secret.as_ref()?;
    Some(ObjectKey::new(Arc::clone(&set.meta.key.namespace), Arc::clone(name)))
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
        let queue = self.queue.get_or_init(|| Arc::clone(queue)).clone();
        let released_secrets = Arc::clone(&self.released_secrets);
        self.sets.subscribe(move |change| {
            let [before, after] = [change.before, change.after].map(|entry| match entry {
                Some(Entry::Known(set)) => secret_of(set),
                _ => None,
            });
            released_secrets.changed(change.key, before.as_ref(), after.as_ref());
            // A deleted MachineSet is requeued, too: it may have been the last that named its Secret.
            queue.add_changed(change.key, change);
        });
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

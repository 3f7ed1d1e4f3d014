//! The annotator: tells cluster-autoscaler what a machine of an empty MachineSet would give, so that it can scale from zero.
//!
//! Input: MachineSets, and what a cloud and the built-in catalogue say of instance types. Output: annotations on each MachineSet, and Events.
//! It creates and deletes nothing, so it is safe beside anything and needs no lease.

mod act;
#[cfg(test)]
mod any_spec;
mod decide;
mod declaration;
mod error;
pub mod metrics;
mod observe;
mod plan;
mod report;
mod snapshot;

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_domain::shape::Capacity;
use machinist_provider::capacity::CapacitySource;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::Writer;

pub use self::decide::decide;
pub use self::declaration::DECLARATION;
pub use self::error::Refusal;
use self::metrics::AnnotatorMetrics;
pub use self::plan::{Outcome, Plan, Truth};
pub use self::report::report;
pub use self::snapshot::{Cloud, Content, Snapshot};
use crate::kinds::{MachineSet, MachineSets};
use crate::openshift::{OpenShift, Rival};
use crate::realms::leavers::Leavers;
use crate::realms::{Concern, Realms, SecretScope};

/// What the built-in catalogue knows of an instance type.
pub type Catalogue = fn(&str) -> Option<Capacity>;

/// How to annotate.
#[derive(Clone)]
pub struct Settings {
    /// What to write.
    pub options: Options,
    /// The cloud, if it is to be asked.
    pub cloud: Option<Arc<dyn CapacitySource>>,
    /// The built-in catalogue, if it is to be asked.
    pub catalogue: Option<Catalogue>,
    /// Whether to keep off objects that another machine API is in charge of.
    pub obey_migration: bool,
    /// How Secrets are watched.
    pub secrets: SecretScope,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The annotator.
#[derive(Debug)]
pub struct Annotator {
    sets: Arc<Cache<MachineSets>>,
    realms: Realms,
    rival: Rival,
    settings: Settings,
    metrics: Arc<AnnotatorMetrics>,
    leavers: Arc<Leavers>,
    /// Known when the driver subscribes; what is heard before is in the caches by then.
    queue: Arc<OnceLock<Arc<Queue>>>,
}

impl Annotator {
    /// An annotator that reads MachineSets as `kind` does.
    pub fn new(shared: &Arc<Shared>, kind: MachineSets, settings: Settings) -> Self {
        let sets = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        let queue = Arc::<OnceLock<Arc<Queue>>>::default();
        let wake = Wake { sets: Arc::clone(&sets), queue: Arc::clone(&queue) };
        let openshift = OpenShift::new(shared);
        let rival = Rival::new(shared, openshift.clone());
        let realms = Realms::new(
            shared,
            openshift,
            settings.secrets,
            Arc::new(move |concern| match concern {
                Concern::All => wake.those(|_| true),
                Concern::Secret(key) => wake.those(|set| names(set, &key)),
            }),
        );
        if let Some(cloud) = &settings.cloud {
            let wake = Wake { sets: Arc::clone(&sets), queue: Arc::clone(&queue) };
            cloud.listen(Box::new(move |_realm, types| {
                wake.those(|set| {
                    set.shape.as_ref().is_ok_and(|shape| types.contains(&shape.instance_type))
                });
            }));
        }
        let (metrics, leavers) = (shared.metrics.set(), Arc::default());
        Self { sets, realms, rival, settings, metrics, leavers, queue }
    }

    /// Closes the watches of Secrets that this object was the last to name, and forgets what was asked in their name.
    fn let_go_of_secrets(&self, key: &ObjectKey) {
        for secret in self.leavers.take(key) {
            if self.sets.select(|set| names(set, &secret)).is_empty() {
                self.realms.let_go(&secret);
                if let Some(cloud) = &self.settings.cloud {
                    cloud.forget(&secret);
                }
            }
        }
    }
}

/// Whether the set's machines are asked about in the name of this Secret.
fn names(set: &MachineSet, secret: &ObjectKey) -> bool {
    let named = set.shape.as_ref().ok().and_then(|shape| shape.credentials_secret.as_deref());
    set.meta.key.namespace == secret.namespace && named == Some(&*secret.name)
}

/// The Secret in whose name a set's machines are asked about.
fn secret_of(entry: &Entry<MachineSet>) -> Option<ObjectKey> {
    let Entry::Known(set) = entry else { return None };
    let name = set.shape.as_ref().ok()?.credentials_secret.as_ref()?;
    Some(ObjectKey::new(Arc::clone(&set.meta.key.namespace), Arc::clone(name)))
}

/// Brings MachineSets back whose surroundings have changed.
struct Wake {
    sets: Arc<Cache<MachineSets>>,
    queue: Arc<OnceLock<Arc<Queue>>>,
}

impl Wake {
    fn those(&self, concerned: impl Fn(&MachineSet) -> bool) {
        if let Some(queue) = self.queue.get() {
            for key in self.sets.select(concerned) {
                queue.add(&key);
            }
        }
    }
}

impl Controller for Annotator {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.sets.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = self.queue.get_or_init(|| Arc::clone(queue)).clone();
        let leavers = Arc::clone(&self.leavers);
        self.sets.subscribe(move |change| {
            let [before, after] = [change.before, change.after].map(|entry| secret_of(entry?));
            leavers.changed(change.key, before.as_ref(), after.as_ref());
            // One that is gone is looked at once more, because it may have left a watch behind.
            queue.add_changed(change.key, change);
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, _now: Timestamp) -> Plan {
        decide(snapshot)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        if let Plan::Tell(Truth { fallback: Some(failure), .. }) = plan {
            self.metrics.catalogue_answered(failure.category.as_str());
        }
        act::act(&self.sets, snapshot, plan, writer).await
    }

    fn report(&self, _: &Snapshot, _: &Plan, outcome: &Outcome, _: Timestamp) -> Report {
        report(outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_SETS, meta: &snapshot.meta }
    }
}

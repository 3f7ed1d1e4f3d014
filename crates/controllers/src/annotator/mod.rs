//! The annotator: tells cluster-autoscaler what a machine of an empty MachineSet would give, so that it can scale from zero.
//!
//! Input: MachineSets and what is known of instance types. Output: four annotations on each MachineSet, and Events where there is nothing
//! true to write. It creates and deletes nothing, so it is safe beside anything and needs no lease.

mod act;
mod decide;
mod error;
mod observe;
mod plan;
mod report;
mod snapshot;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_domain::key::ObjectKey;
use machinist_domain::report::Report;
use machinist_domain::shape::Capacity;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;

pub use self::decide::decide;
pub use self::error::Refusal;
pub use self::plan::{Outcome, Plan};
pub use self::report::report;
pub use self::snapshot::{Content, Snapshot};
use crate::kinds::MachineSets;

/// The annotator.
pub struct Annotator {
    sets: Arc<Cache<MachineSets>>,
    catalogue: fn(&str) -> Option<Capacity>,
}

impl std::fmt::Debug for Annotator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Annotator").field("sets", &self.sets).finish_non_exhaustive()
    }
}

impl Annotator {
    /// An annotator that reads MachineSets as `kind` does and finds in `catalogue` what they give.
    pub fn new(
        shared: &Shared,
        kind: MachineSets,
        catalogue: fn(&str) -> Option<Capacity>,
    ) -> Self {
        let sets = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        Self { sets, catalogue }
    }
}

impl Controller for Annotator {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const NAME: &'static str = "annotator";
    const USER_AGENT: UserAgent = UserAgent::ANNOTATOR;
    const REQUIRES: &'static [Resource] = &[MACHINE_SETS];
    const ELECTS: bool = false;
    const WORKERS: usize = 16;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.sets.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = Arc::clone(queue);
        self.sets.subscribe(move |change| {
            if change.after.is_some() {
                queue.add(change.key);
            }
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(&self.sets, self.catalogue, key).await
    }

    fn decide(&self, snapshot: &Snapshot, _now: Timestamp) -> Plan {
        decide(snapshot)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        act::act(&self.sets, snapshot, plan, writer).await
    }

    fn report(&self, _snapshot: &Snapshot, outcome: &Outcome, _now: Timestamp) -> Report {
        report(outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_SETS, meta: &snapshot.meta }
    }
}

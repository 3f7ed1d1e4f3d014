//! The MachineSet controller: keeps the desired number of Machines.
//!
//! Invariants: a stale cache or a restart never causes more Machines than desired (see `decide`); nothing is deleted
//! before the set is read live; Machines of other owners are not touched. A change of the set is reconciled at once;
//! changes of its Machines and Nodes are collected for a moment, so that the status is not written once per Machine.

mod act;
mod decide;
mod declaration;
mod error;
#[cfg(test)]
mod exploration;
#[cfg(test)]
mod fuzz;
pub(crate) mod hold;
mod membership;
pub(crate) mod memory;
mod messages;
mod metrics;
mod observe;
pub(crate) mod ordinals;
mod ownership;
mod plan;
mod report;
#[cfg(test)]
mod samples;
pub(crate) mod selector;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use machinist_runtime::cache::index::Index;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache, Scope};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::decide::{decide, is_managed_elsewhere};
pub use self::declaration::DECLARATION;
use self::memory::{Creations, FailedClaim, Lists, Remembered};
use self::metrics::MachineSetMetrics;
use self::plan::{Outcome, Plan};
use self::report::report;
use self::snapshot::Snapshot;
use crate::inventory::Inventory;
use crate::kinds::indexes::machines_by_node;
use crate::kinds::{MachineSets, Machines, Node, Nodes};
use crate::migration::MigrationGate;
use crate::openshift::OpenShift;
use crate::preservation;
use crate::safety;
use crate::served::Field;

#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// The feature gate MachineAPIMigration, if a flag sets it: whether `authoritativeAPI` is obeyed.
    pub migration: Option<bool>,
    pub timings: MachineTimings,
}

#[derive(Debug)]
pub struct MachineSetController {
    sets: Arc<Cache<MachineSets>>,
    machines: Arc<Cache<Machines>>,
    nodes: Arc<Cache<Nodes>>,
    by_owner: Arc<Index>,
    by_node: Arc<Index>,
    failed_claims: Remembered<FailedClaim>,
    lists: Lists,
    creations: Creations,
    /// The uptime at which the counts of each set were last written.
    counts_written: Remembered<Duration>,
    clock: SharedClock,
    metrics: Arc<MachineSetMetrics>,
    settings: Settings,
    /// Whether the served schema has `status.authoritativeAPI`, as far as responses have shown it.
    authority_field: Mutex<Field>,
    migration: MigrationGate,
    /// Whether it has `status.conditions`: those of older OpenShift versions have not.
    conditions_field: Mutex<Field>,
    /// Set when the driver subscribes.
    queue: OnceLock<Arc<Queue>>,
}

impl MachineSetController {
    pub fn new(
        shared: &Arc<Shared>,
        sets: MachineSets,
        machines: Machines,
        settings: Settings,
    ) -> Self {
        let (caches, scope) = (&shared.caches, &shared.scope);
        let machines = caches.open(&shared.control, scope.clone(), machines);
        let sets = caches.open(&shared.control, scope.clone(), sets);
        shared.metrics.of::<Inventory>().sets(&sets);
        shared.freezes.follow(&sets);
        let nodes_cluster = shared.target.as_ref().unwrap_or(&shared.control);
        let nodes = caches.open(nodes_cluster, Scope::All, Nodes);
        safety::count_nodes_of_machines(shared, &machines, &nodes);
        Self {
            sets,
            nodes,
            by_owner: machines.index_entries(ownership::by_owner),
            by_node: machines_by_node(&machines),
            machines,
            failed_claims: Remembered::default(),
            lists: Lists::default(),
            creations: Creations::new(settings.timings.late_create),
            counts_written: Remembered::default(),
            clock: Arc::clone(&shared.clock),
            metrics: shared.metrics.of(),
            settings,
            authority_field: Mutex::default(),
            migration: MigrationGate::new(
                shared,
                &OpenShift::new(shared),
                Self::NAME,
                settings.migration,
            ),
            conditions_field: Mutex::default(),
            queue: OnceLock::new(),
        }
    }
}

impl MachineSetController {
    /// A stock CRD may drop `status.authoritativeAPI`. Then the write has not changed the set, and it must be requeued.
    fn learn_authority_field(&self, key: &ObjectKey) {
        let Some(Entry::Known(set)) = self.sets.get(key) else { return };
        let field = Field::learned(set.state.status.authority != MachineAuthority::Unset);
        *self.authority_field.lock() = field;
        self.requeue_if_dropped(field, key);
    }

    /// As for `status.authoritativeAPI`; what the condition would say becomes an Event.
    fn learn_conditions_field(&self, key: &ObjectKey) {
        let Some(Entry::Known(set)) = self.sets.get(key) else { return };
        let field = Field::learned(!set.state.status.conditions.is_empty());
        *self.conditions_field.lock() = field;
        self.requeue_if_dropped(field, key);
    }

    fn requeue_if_dropped(&self, field: Field, key: &ObjectKey) {
        if let (Field::Dropped, Some(queue)) = (field, self.queue.get()) {
            queue.add(key);
        }
    }
}

impl Controller for MachineSetController {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.sets.clone(), self.machines.clone(), self.nodes.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = self.queue.get_or_init(|| Arc::clone(queue));
        self.migration.subscribe(queue, &self.sets);
        let (for_sets, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        self.sets.subscribe(move |change| {
            let status = match change.after {
                Some(Entry::Known(set)) => Some(&set.state.status),
                _ => None,
            };
            metrics.show(change.key, status);
            if change.after.is_some() {
                for_sets.add_changed(change.key, change);
            }
        });
        let debounce = self.settings.timings.machine_debounce;
        let (for_machines, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        self.machines.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                for set in ownership::sets_of(entry, &sets) {
                    for_machines.add_changed_after(&set, change, debounce);
                }
            }
        });
        let (for_nodes, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        let (machines, by_node) = (Arc::clone(&self.machines), Arc::clone(&self.by_node));
        self.nodes.subscribe(move |change| {
            let state = |entry: Option<&Entry<Node>>| match entry {
                Some(Entry::Known(node)) => {
                    let preserve = preservation::on_node(node).map(str::to_owned);
                    Some((node.meta.uid.clone(), node.readiness.clone(), preserve))
                }
                _ => None,
            };
            // Heartbeats change nothing here.
            if state(change.before) == state(change.after) {
                return;
            }
            for machine in by_node.get(&change.key.name) {
                let Some(entry) = machines.get(&machine) else { continue };
                for set in ownership::sets_of(&entry, &sets) {
                    for_nodes.add_changed_after(&set, change, debounce);
                }
            }
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, now: Timestamp) -> Plan {
        decide(snapshot, now)
    }

    async fn act(&self, snapshot: &Snapshot, plan: &Plan, writer: &Writer) -> Outcome {
        act::act(self, snapshot, plan, writer).await
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Report {
        report(snapshot, plan, outcome, now)
    }

    fn conditions(&self, snapshot: &Snapshot) -> Option<Vec<Condition>> {
        let set = &snapshot.content.as_ref().ok()?.set;
        let shown = !snapshot.meta.deleting
            && snapshot.conditions_field != Field::Dropped
            && !is_managed_elsewhere(snapshot, set);
        shown.then(|| set.status.conditions.to_vec())
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        // Other controllers write conditions, too, and the patch replaces the whole list.
        let guard = if status.get("conditions").is_some() { Guard::Version } else { Guard::Uid };
        let patch = json!({ "status": status });
        let (sets, meta, plan) = (&self.sets, &snapshot.meta, "update status");
        let written = writer.patch(sets, meta, Part::Status, guard, patch, &plan).await?;
        if written.is_some() {
            let (now, pause) = (self.clock.uptime(), self.settings.timings.set_counts);
            self.counts_written.lock().insert(meta.uid.clone(), now, now, pause);
            if status["conditions"].as_array().is_some_and(|list| !list.is_empty()) {
                self.learn_conditions_field(&meta.key);
            }
        }
        Ok(written)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_SETS, meta: &snapshot.meta }
    }
}

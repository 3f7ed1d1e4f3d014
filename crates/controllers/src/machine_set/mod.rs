//! The MachineSet controller: keeps as many machines of a kind as a MachineSet wants.
//!
//! Input: MachineSets, their Machines, and the Nodes of these. Output: Machines, created from the set's template, adopted, released and deleted; the
//! set's status, and Events. A Machine is made and removed by `machine`; here it is only asked for.
//!
//! Invariants: whatever the caches have not seen yet and whenever the process dies, no more machines are made than the set wants (`decide`); a
//! deletion is asked for only if the set, read live, still wants it; machines of others are not touched.
//!
//! A set is looked at as soon as it changes. Changes of its machines and nodes are collected for a moment ([`MachineTimings::children`]), so that the
//! status of a set of thousands is not written thousands of times while they come up.
//!

mod act;
mod decide;
mod declaration;
mod error;
mod family;
pub mod metrics;
mod observe;
mod plan;
mod report;
#[cfg(test)]
mod samples;
mod snapshot;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::MACHINE_SETS;
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

pub use self::decide::decide;
pub use self::declaration::DECLARATION;
pub use self::error::Refusal;
use self::family::{Counted, Looked, Refused};
use self::metrics::{MachineSetMetrics, SetCounts};
pub use self::plan::{MOST_PER_PASS, Outcome, Plan, Why};
pub use self::report::report;
pub use self::snapshot::{Content, Family, Member, ReadySince, Seen, Snapshot};
use crate::kinds::indexes::machines_by_node;
use crate::kinds::{MachineSet, MachineSets, Machines, Nodes};
use crate::served::Field;

/// How to look after MachineSets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Whether to keep off objects that another machine API is in charge of.
    pub obey_migration: bool,
    /// Durations.
    pub timings: MachineTimings,
}

/// The MachineSet controller.
#[derive(Debug)]
pub struct MachineSetController {
    sets: Arc<Cache<MachineSets>>,
    machines: Arc<Cache<Machines>>,
    nodes: Arc<Cache<Nodes>>,
    by_manager: Arc<Index>,
    by_node: Arc<Index>,
    refused: Refused,
    looked: Looked,
    counted: Counted,
    clock: SharedClock,
    metrics: Arc<MachineSetMetrics>,
    settings: Settings,
    /// Whether the served schema says who is in charge, as far as answers have shown it.
    authority_field: Mutex<Field>,
    /// Known when the driver subscribes.
    queue: OnceLock<Arc<Queue>>,
    /// How long changes of machines are collected.
    gather: Duration,
    /// How long a machine is not claimed again after something in its way that may go by itself.
    unclaimed: Duration,
    no_namespace: Arc<str>,
}

impl MachineSetController {
    /// A controller that reads MachineSets and Machines as these kinds do. Where another controller of the process reads MachineSets, too, it must
    /// be given the same kind, with the sets' children.
    pub fn new(
        shared: &Arc<Shared>,
        sets: MachineSets,
        machines: Machines,
        settings: Settings,
    ) -> Self {
        let (caches, scope) = (&shared.caches, &shared.scope);
        let machines = caches.open(&shared.control, scope.clone(), machines);
        let nodes_cluster = shared.target.as_ref().unwrap_or(&shared.control);
        Self {
            sets: caches.open(&shared.control, scope.clone(), sets),
            nodes: caches.open(nodes_cluster, Scope::All, Nodes::default()),
            by_manager: machines.index_entries(family::by_manager),
            by_node: machines_by_node(&machines),
            machines,
            refused: Refused::default(),
            looked: Looked::default(),
            counted: Counted::new(settings.timings.set_counts),
            clock: Arc::clone(&shared.clock),
            metrics: shared.metrics.set(),
            settings,
            authority_field: Mutex::default(),
            queue: OnceLock::new(),
            gather: settings.timings.children,
            unclaimed: settings.timings.poll,
            no_namespace: "".into(),
        }
    }
}

/// What the status of a set says, as the metrics have it.
fn counts(entry: &Entry<MachineSet>) -> Option<SetCounts> {
    let Entry::Known(set) = entry else { return None };
    let status = &set.state.status;
    let count = |said: Option<i32>| i64::from(said.unwrap_or_default());
    Some(SetCounts {
        replicas: count(status.replicas),
        available: count(status.available),
        ready: count(status.ready),
    })
}

impl MachineSetController {
    /// A stock CRD may have no place for who is in charge. Then the set has not changed by what was written, and has to be brought back.
    fn learn_authority_field(&self, key: &ObjectKey) {
        let Some(Entry::Known(set)) = self.sets.get(key) else { return };
        let field = Field::learned(set.state.status.authority != MachineAuthority::Unset);
        *self.authority_field.lock() = field;
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
        let (for_sets, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        self.sets.subscribe(move |change| {
            metrics.show(change.key, change.after.and_then(counts));
            if change.after.is_some() {
                for_sets.add_changed(change.key, change);
            }
        });
        let gather = self.gather;
        let (for_machines, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        self.machines.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                for set in family::sets_of(entry, &sets) {
                    for_machines.add_changed_after(&set, change, gather);
                }
            }
        });
        let (for_nodes, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        let (machines, by_node) = (Arc::clone(&self.machines), Arc::clone(&self.by_node));
        self.nodes.subscribe(move |change| {
            let state = |entry: Option<&Entry<_>>| match entry {
                Some(Entry::Known(node)) => {
                    let node: &crate::kinds::Node = node;
                    Some((node.meta.uid.clone(), node.readiness.clone()))
                }
                _ => None,
            };
            // Nodes say every few minutes that they are alive; that concerns nobody.
            if state(change.before) == state(change.after) {
                return;
            }
            for machine in by_node.get(&change.key.name) {
                let Some(entry) = machines.get(&machine) else { continue };
                for set in family::sets_of(&entry, &sets) {
                    for_nodes.add_changed_after(&set, change, gather);
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
        _plan: &Plan,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Report {
        report(snapshot, outcome, now)
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        // Counts are ours alone; the list of conditions is everybody's.
        let guard = if status.get("conditions").is_some() { Guard::Version } else { Guard::Uid };
        let patch = json!({ "status": status });
        let (sets, meta, plan) = (&self.sets, &snapshot.meta, "say how it is");
        let written = writer.patch(sets, meta, Part::Status, guard, patch, &plan).await?;
        if written.is_some() {
            self.counted.wrote(&meta.uid, self.clock.uptime());
        }
        if written.is_some() && status.get("authoritativeAPI").is_some() {
            self.learn_authority_field(&meta.key);
        }
        Ok(written)
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_SETS, meta: &snapshot.meta }
    }
}

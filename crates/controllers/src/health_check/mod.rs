//! The health check controller: deletes Machines whose Nodes are unhealthy (MachineHealthChecks), so that their
//! MachineSets replace them.
//!
//! Invariants: nothing is deleted while more than `spec.maxUnhealthy` Machines are not healthy, nor what a live read
//! shows as healthy. It waits for changes and for the end of the next timeout, and polls nothing. Not here: how
//! Machines are drained and replaced.

mod act;
mod decide;
mod declaration;
mod error;
mod external;
mod health;
mod memory;
mod messages;
mod metrics;
mod observe;
mod plan;
mod report;
mod request;
mod retries;
#[cfg(test)]
mod samples;
mod snapshot;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS};
use machinist_domain::conditions::Condition;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use machinist_runtime::cache::index::Index;
use machinist_runtime::cache::kind::CustomResourceDefinitions;
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::cache::{AnyCache, Cache, Scope};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::{Value, json};

pub use self::declaration::DECLARATION;
use self::external::ExternalRemediation;
use self::memory::{FirstSeen, Waiting};
use self::metrics::HealthCheckMetrics;
use self::plan::{Outcome, Plan};
use self::report::report;
use self::snapshot::{NoLimit, Snapshot};
use crate::first_list::{FirstList, Unreadable};
use crate::kinds::indexes::{machines_by_node, nodes_by_provider_id};
use crate::kinds::{
    Machine, MachineDeployments, MachineHealthChecks, MachineSets, Machines, Node, NodeCondition,
    Nodes, Ready,
};
use crate::openshift::OpenShift;
use crate::owner_references::owner_uid;
use crate::preservation;
use crate::safety;

#[derive(Debug)]
pub struct HealthCheckController {
    checks: Arc<Cache<MachineHealthChecks>>,
    machines: Arc<Cache<Machines>>,
    sets: Arc<Cache<MachineSets>>,
    nodes: Arc<Cache<Nodes>>,
    deployments: Deployments,
    sets_by_owner: Arc<Index>,
    machines_by_owner: Arc<Index>,
    machines_by_node: Arc<Index>,
    nodes_by_provider_id: Arc<Index>,
    external: Arc<ExternalRemediation>,
    definitions: Arc<Cache<CustomResourceDefinitions>>,
    shared: Arc<Shared>,
    first_seen: FirstSeen,
    waiting: Waiting,
    metrics: Arc<HealthCheckMetrics>,
    clock: SharedClock,
    timings: MachineTimings,
}

/// The cache of MachineDeployments, a kind that need not be served: OpenShift does not have it.
#[derive(Debug)]
struct Deployments {
    kind: MachineDeployments,
    shared: Arc<Shared>,
    openshift: OpenShift,
    queue: OnceLock<Arc<Queue>>,
    cache: OnceLock<Arc<Cache<MachineDeployments>>>,
    first_list: FirstList,
}

impl HealthCheckController {
    pub fn new(
        shared: &Arc<Shared>,
        machines: Machines,
        sets: MachineSets,
        deployments: MachineDeployments,
        timings: MachineTimings,
    ) -> Self {
        let (caches, scope) = (&shared.caches, &shared.scope);
        let machines = caches.open(&shared.control, scope.clone(), machines);
        let sets = caches.open(&shared.control, scope.clone(), sets);
        let checks = caches.open(&shared.control, scope.clone(), MachineHealthChecks);
        shared.freezes.follow(&checks);
        // A Machine that is frozen, or whose owner is, is not deleted.
        shared.freezes.follow(&machines);
        shared.freezes.follow(&sets);
        let nodes_cluster = shared.target.as_ref().unwrap_or(&shared.control);
        let nodes = caches.open(nodes_cluster, Scope::All, Nodes);
        safety::count_nodes_of_machines(shared, &machines, &nodes);
        Self {
            checks,
            nodes_by_provider_id: nodes_by_provider_id(&nodes),
            nodes,
            deployments: Deployments {
                kind: deployments,
                shared: Arc::clone(shared),
                openshift: OpenShift::new(shared),
                queue: OnceLock::new(),
                cache: OnceLock::new(),
                first_list: FirstList::new(shared.timings.request),
            },
            sets_by_owner: sets.index_entries(owner_uid),
            machines_by_owner: machines.index_entries(owner_uid),
            machines_by_node: machines_by_node(&machines),
            machines,
            sets,
            external: Arc::new(ExternalRemediation::new(shared, timings.late_create)),
            definitions: caches.open(&shared.control, Scope::All, CustomResourceDefinitions),
            shared: Arc::clone(shared),
            first_seen: FirstSeen::default(),
            waiting: Waiting::default(),
            metrics: shared.metrics.of(),
            clock: Arc::clone(&shared.clock),
            timings,
        }
    }

    /// The cache of MachineDeployments with its first list. It is opened when their kind is served.
    async fn deployments(&self) -> Result<&Arc<Cache<MachineDeployments>>, NoLimit> {
        let Deployments { openshift, cache, first_list, .. } = &self.deployments;
        let unreadable = |error: Unreadable| NoLimit::Unreadable(error.to_string());
        if cache.get().is_none()
            && !openshift.serves(MACHINE_DEPLOYMENTS).await.map_err(unreadable)?
        {
            return Err(NoLimit::NotServed);
        }
        let cache = cache.get_or_init(|| self.open_deployments());
        first_list.of(cache).await.map_err(unreadable)?;
        Ok(cache)
    }

    fn open_deployments(&self) -> Arc<Cache<MachineDeployments>> {
        let Deployments { kind, shared, queue, .. } = &self.deployments;
        let cache = shared.caches.open(&shared.control, shared.scope.clone(), kind.clone());
        shared.freezes.follow(&cache);
        // Set before the first reconcile.
        if let Some(queue) = queue.get() {
            let (queue, waiting) = (Arc::clone(queue), Arc::clone(&self.waiting));
            let debounce = self.timings.machine_debounce;
            cache.subscribe(move |change| wake_waiting(&waiting, &queue, change.key, debounce));
        }
        cache
    }
}

/// The health checks of the namespace that wait for other Machines.
fn wake_waiting(waiting: &Waiting, queue: &Queue, changed: &ObjectKey, after: Duration) {
    let waiting = waiting.lock();
    for check in waiting.iter().filter(|check| check.namespace == changed.namespace) {
        queue.add_after(check, after);
    }
}

/// The health checks that select the Machine.
fn checks_of(checks: &Cache<MachineHealthChecks>, entry: &Entry<Machine>) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    checks.select(|check| check.meta.key.namespace == *namespace && observe::selects(check, entry))
}

/// What of a Node its health depends on. Heartbeats do not change it.
type NodeState<'a> = (&'a Uid, &'a [NodeCondition], Ready, bool, Option<&'a str>);

fn node_state(entry: Option<&Entry<Node>>) -> Option<NodeState<'_>> {
    let node = entry?.known()?;
    let (uid, ready) = (&node.meta.uid, node.readiness.status);
    Some((uid, &node.conditions, ready, node.is_control_plane(), preservation::on_node(node)))
}

fn is_relevant(change: &Change<'_, Node>) -> bool {
    let known = |entry: Option<&Entry<Node>>| entry.map(|entry| entry.known().is_some());
    known(change.before) != known(change.after)
        || node_state(change.before) != node_state(change.after)
}

impl Controller for HealthCheckController {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        let deployments = self.deployments.cache.get().cloned();
        let deployments = deployments.map(|cache| cache as Arc<dyn AnyCache>);
        let others: [Arc<dyn AnyCache>; 4] =
            [self.checks.clone(), self.machines.clone(), self.sets.clone(), self.nodes.clone()];
        others.into_iter().chain(deployments).collect()
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        drop(self.deployments.queue.set(Arc::clone(queue)));
        self.external.notify(queue);
        let (for_kinds, checks) = (Arc::clone(queue), Arc::clone(&self.checks));
        let delay = self.timings.machine_debounce;
        self.definitions.subscribe(move |change| {
            // A kind that a health check or its Machines need may be served now.
            if change.before.is_none() {
                for check in checks.keys() {
                    for_kinds.add_after(&check, delay);
                }
            }
        });
        let (for_checks, metrics) = (Arc::clone(queue), Arc::clone(&self.metrics));
        let (forgotten, external) = (Arc::clone(&self.waiting), Arc::clone(&self.external));
        self.checks.subscribe(move |change| {
            if change.after.is_some() {
                for_checks.add_changed(change.key, change);
            } else {
                metrics.forget(change.key);
                external.close(change.key);
                forgotten.lock().remove(change.key);
            }
        });
        let (debounce, counts) = (self.timings.machine_debounce, self.timings.set_counts);
        let (for_machines, checks) = (Arc::clone(queue), Arc::clone(&self.checks));
        let waiting = Arc::clone(&self.waiting);
        self.machines.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                for check in checks_of(&checks, entry) {
                    // Thousands of Machines change while they boot, and a status is written for each reconcile.
                    for_machines.add_changed_after(&check, change, counts);
                }
            }
            wake_waiting(&waiting, &for_machines, change.key, counts);
        });
        let (for_nodes, checks) = (Arc::clone(queue), Arc::clone(&self.checks));
        let (machines, by_node) = (Arc::clone(&self.machines), Arc::clone(&self.machines_by_node));
        let waiting = Arc::clone(&self.waiting);
        self.nodes.subscribe(move |change| {
            if !is_relevant(change) {
                return;
            }
            for key in by_node.get(&change.key.name) {
                let Some(machine) = machines.get(&key) else { continue };
                for check in checks_of(&checks, &machine) {
                    for_nodes.add_changed_after(&check, change, debounce);
                }
                wake_waiting(&waiting, &for_nodes, &key, debounce);
            }
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Snapshot>, ApiError> {
        observe::observe(self, key).await
    }

    fn decide(&self, snapshot: &Snapshot, _: Timestamp) -> Plan {
        decide::decide(snapshot)
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
        let check = &snapshot.content.as_ref().ok()?.check;
        (!snapshot.meta.deleting).then(|| check.status.conditions.to_vec())
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let patch = json!({ "status": status });
        let (meta, plan) = (&snapshot.meta, "update status");
        writer.patch(&self.checks, meta, Part::Status, Guard::Version, patch, &plan).await
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_HEALTH_CHECKS, meta: &snapshot.meta }
    }
}

//! The MachineDeployment controller: replaces Machines step by step when their template changes.
//!
//! Invariants, however late the watches are: no more Machines than `replicas + maxSurge` (those being deleted
//! included), and no fewer available ones than `replicas − maxUnavailable`, unless Machines fail or are deleted by
//! others (`decide/scaling.rs`). It creates and deletes MachineSets; Machines are created and deleted by the MachineSet
//! controller.

mod act;
mod decide;
mod declaration;
mod defaults;
mod error;
#[cfg(test)]
mod exploration;
mod failed;
mod hot_fields;
mod in_place;
mod memory;
mod messages;
mod node_marks;
mod observe;
mod ownership;
mod pending;
mod plan;
mod report;
pub mod revision;
#[cfg(test)]
mod samples;
mod snapshot;
mod template;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::MACHINE_DEPLOYMENTS;
use machinist_domain::conditions::Condition;
use machinist_domain::key::{ObjectKey, Uid};
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
use serde_json::{Value, json};

use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::memory::{Lists, NodeTroubles, Sizes};
use self::plan::{Outcome, Plan};
use self::report::report;
use self::snapshot::Snapshot;
use crate::kinds::indexes::machines_by_node;
use crate::kinds::{MachineDeployments, MachineSets, Machines, Node, Nodes, Readiness};
use crate::machine_set::memory::{FailedClaim, Remembered};
use crate::owner_references::owner_uid;
use crate::preservation;
use crate::safety;

#[derive(Debug)]
pub struct MachineDeploymentController {
    deployments: Arc<Cache<MachineDeployments>>,
    sets: Arc<Cache<MachineSets>>,
    machines: Arc<Cache<Machines>>,
    nodes: Arc<Cache<Nodes>>,
    sets_by_owner: Arc<Index>,
    machines_by_owner: Arc<Index>,
    machines_by_node: Arc<Index>,
    /// By the deployment whose marks they have, as `namespace/name`.
    nodes_by_rollout: Arc<Index>,
    lists: Lists,
    sizes: Sizes,
    refused: Remembered<FailedClaim>,
    node_troubles: NodeTroubles,
    clock: SharedClock,
    timings: MachineTimings,
}

impl MachineDeploymentController {
    pub fn new(
        shared: &Arc<Shared>,
        deployments: MachineDeployments,
        sets: MachineSets,
        machines: Machines,
        timings: MachineTimings,
    ) -> Self {
        let (caches, scope) = (&shared.caches, &shared.scope);
        let machines = caches.open(&shared.control, scope.clone(), machines);
        let sets = caches.open(&shared.control, scope.clone(), sets);
        let deployments = caches.open(&shared.control, scope.clone(), deployments);
        shared.freezes.follow(&sets);
        shared.freezes.follow(&deployments);
        let nodes_cluster = shared.target.as_ref().unwrap_or(&shared.control);
        let nodes = caches.open(nodes_cluster, Scope::All, Nodes);
        safety::count_nodes_of_machines(shared, &machines, &nodes);
        Self {
            deployments,
            nodes_by_rollout: nodes.index(node_marks::by_deployment),
            nodes,
            sets_by_owner: sets.index_entries(ownership::sets_by_owner),
            machines_by_owner: machines.index_entries(owner_uid),
            machines_by_node: machines_by_node(&machines),
            sets,
            machines,
            lists: Lists::default(),
            sizes: Sizes::new(timings.late_create),
            refused: Remembered::default(),
            node_troubles: NodeTroubles::new(timings.late_create / 2),
            clock: Arc::clone(&shared.clock),
            timings,
        }
    }
}

/// What of a Node a rollout depends on.
type NodeState<'a> = (&'a Uid, &'a Readiness, Option<&'a str>, node_marks::Seen<'a>);

fn node_state(entry: Option<&Entry<Node>>) -> Option<NodeState<'_>> {
    let node = entry?.known()?;
    Some((&node.meta.uid, &node.readiness, preservation::on_node(node), node_marks::seen(node)))
}

impl Controller for MachineDeploymentController {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.deployments.clone(), self.sets.clone(), self.machines.clone(), self.nodes.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let for_deployments = Arc::clone(queue);
        let deployments = Arc::downgrade(&self.deployments);
        self.deployments.subscribe(move |change| {
            if ownership::selects_otherwise(change.before, change.after)
                && let Some(deployments) = deployments.upgrade()
            {
                let is_near = |other: &ObjectKey| other.namespace == change.key.namespace;
                let all = deployments.select(|other| is_near(&other.meta.key));
                // An overlap with it may have ended.
                all.iter()
                    .filter(|key| *key != change.key)
                    .for_each(|key| for_deployments.add(key));
            }
            if change.after.is_some() {
                for_deployments.add_changed(change.key, change);
            }
        });
        let (for_sets, deployments) = (Arc::clone(queue), Arc::clone(&self.deployments));
        self.sets.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                for deployment in ownership::deployments_of(entry, &deployments) {
                    for_sets.add_changed(&deployment, change);
                }
            }
        });
        let debounce = self.timings.machine_debounce;
        let (for_machines, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        let nodes = Arc::clone(&self.nodes);
        self.machines.subscribe(move |change| {
            for entry in [change.before, change.after].into_iter().flatten() {
                let owner = ownership::deployment_of(entry, &sets);
                // A Machine that has left its deployment may leave marks on its Node.
                let marked =
                    ownership::marked_by(entry, &nodes).filter(|one| owner.as_ref() != Some(one));
                for deployment in owner.into_iter().chain(marked) {
                    for_machines.add_changed_after(&deployment, change, debounce);
                }
            }
        });
        let (for_nodes, sets) = (Arc::clone(queue), Arc::clone(&self.sets));
        let (machines, by_node) = (Arc::clone(&self.machines), Arc::clone(&self.machines_by_node));
        self.nodes.subscribe(move |change| {
            // Heartbeats change nothing here.
            if node_state(change.before) == node_state(change.after) {
                return;
            }
            if let Some(Entry::Known(node)) = change.after
                && let Some(deployment) = node_marks::deployment_of(node)
            {
                for_nodes.add_changed_after(&deployment, change, debounce);
            }
            for machine in by_node.get(&change.key.name) {
                let deployment = machines
                    .get(&machine)
                    .as_ref()
                    .and_then(|entry| ownership::deployment_of(entry, &sets));
                if let Some(deployment) = deployment {
                    for_nodes.add_changed_after(&deployment, change, debounce);
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
        let deployment = &snapshot.content.as_ref().ok()?.deployment;
        (!snapshot.meta.deleting).then(|| deployment.status.conditions.to_vec())
    }

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let (deployments, meta) = (&self.deployments, &snapshot.meta);
        let patch = json!({ "status": status });
        let plan = "update status";
        writer.patch(deployments, meta, Part::Status, Guard::Version, patch, &plan).await
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINE_DEPLOYMENTS, meta: &snapshot.meta }
    }
}

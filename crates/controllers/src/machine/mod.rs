//! The machine controller: creates an instance for every Machine, observes it, and deletes it with its Node.
//!
//! State that must survive a crash is on the objects: the launch before an instance is created, and the progress of a
//! deletion. Not here: the number of Machines (`machine_set`), links to Nodes (`node_link`), and drains
//! ([`drain`](crate::drain)).

mod act;
mod decide;
mod declaration;
mod error;
#[cfg(test)]
mod exploration;
mod failure_domains;
#[cfg(test)]
pub(crate) mod fuzz;
mod in_place;
mod instance_cache;
mod late_node;
pub(crate) mod messages;
mod metrics;
mod observe;
mod plan;
mod preservation;
#[cfg(test)]
mod properties;
mod repairs;
mod report;
#[cfg(test)]
pub(crate) mod samples;
mod snapshot;
#[cfg(test)]
mod tests;
mod triggers;
mod unmarked;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::MACHINES;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::machine_timings::{MachineLimits, MachineTimings};
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use machinist_domain::retry::Classified as _;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::decide::decide;
pub use self::declaration::DECLARATION;
use self::failure_domains::FailureDomains;
use self::instance_cache::InstanceCache;
use self::metrics::MachineMetrics;
use self::plan::{Outcome, Plan};
use self::repairs::Repairs;
use self::report::report;
use self::snapshot::Snapshot;
use self::triggers::Triggers;
use self::unmarked::UnmarkedNodes;
use crate::cloud_access::SecretScope;
use crate::clouds::Clouds;
use crate::clouds::cluster_identity::ClusterIdentity;
use crate::drain::Drainer;
use crate::inventory::Inventory;
use crate::kinds::{Machines, Nodes};
use crate::migration::MigrationGate;
use crate::openshift::OpenShift;
use crate::safety;
use crate::served::Field;

#[derive(Debug, Clone)]
pub struct Settings {
    pub clouds: Clouds,
    /// The name of the cluster in tags, unless OpenShift sets one; the uid of `kube-system` if `None`.
    pub cluster_id: Option<Arc<str>>,
    pub secrets: SecretScope,
    /// The feature gate MachineAPIMigration, if a flag sets it: whether `authoritativeAPI` is obeyed.
    pub migration: Option<bool>,
    pub timings: MachineTimings,
    pub limits: MachineLimits,
}

#[derive(Debug)]
pub struct MachineController {
    machines: Arc<Cache<Machines>>,
    nodes: Arc<Cache<Nodes>>,
    triggers: Triggers,
    clouds: Clouds,
    identity: ClusterIdentity,
    instances: InstanceCache,
    failure_domains: FailureDomains,
    drainer: Arc<Drainer>,
    /// Attempts that the cloud refused for good. After a restart it refuses again.
    refused: Arc<Mutex<HashMap<Uid, u32>>>,
    /// Whether the served schema has `failureReason` and `failureMessage`.
    failure_fields: Mutex<Field>,
    /// Whether it has `status.authoritativeAPI`.
    authority_field: Mutex<Field>,
    repairs: Arc<Repairs>,
    unmarked: UnmarkedNodes,
    migration: MigrationGate,
    metrics: Arc<MachineMetrics>,
    timings: MachineTimings,
    limits: MachineLimits,
    shared: Arc<Shared>,
}

impl MachineController {
    pub fn new(shared: &Arc<Shared>, kind: Machines, settings: Settings) -> Self {
        let machines = shared.caches.open(&shared.control, shared.scope.clone(), kind);
        shared.freezes.follow(&machines);
        shared.metrics.of::<Inventory>().machines(&machines);
        let cluster = shared.target.as_ref().unwrap_or(&shared.control);
        let nodes = shared.caches.open(cluster, Scope::All, Nodes);
        safety::count_nodes_of_machines(shared, &machines, &nodes);
        let openshift = OpenShift::new(shared);
        let triggers = Triggers::new(shared, &openshift, &machines, &nodes, settings.secrets);
        let (clock, machine_timings) = (&shared.clock, settings.timings);
        let (patience, requeue) = (shared.timings.cloud_call, triggers.access.requeue());
        Self {
            instances: InstanceCache::new(
                shared.tasks.clone(),
                Arc::clone(clock),
                machine_timings,
                patience,
                Arc::clone(&requeue),
            ),
            failure_domains: FailureDomains::new(
                Arc::clone(clock),
                machine_timings,
                patience,
                requeue,
            ),
            identity: ClusterIdentity::new(
                shared.control.session(UserAgent::START),
                settings.cluster_id,
            ),
            drainer: Arc::new(Drainer::new(
                Arc::clone(&nodes),
                cluster.session(UserAgent::CACHE),
                Arc::clone(clock),
                machine_timings,
            )),
            machines,
            nodes,
            triggers,
            clouds: settings.clouds,
            refused: Arc::default(),
            failure_fields: Mutex::default(),
            authority_field: Mutex::default(),
            repairs: Arc::new(Repairs::new(Arc::clone(clock), machine_timings)),
            unmarked: UnmarkedNodes::new(Arc::clone(clock), machine_timings.poll),
            migration: MigrationGate::new(shared, &openshift, Self::NAME, settings.migration),
            metrics: shared.metrics.of(),
            timings: machine_timings,
            limits: settings.limits,
            shared: Arc::clone(shared),
        }
    }

    async fn patch_status(
        &self,
        snapshot: &Snapshot,
        status: &Value,
        plan: &(dyn Display + Sync),
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let patch = json!({"status": status});
        // Conditions are a list that others write to, too.
        let guard = Guard::Version;
        let meta = &snapshot.meta;
        let written = writer.patch(&self.machines, meta, Part::Status, guard, patch, plan).await?;
        if written.is_some() {
            self.learn_served_fields(&meta.key, status);
            self.count(snapshot, status);
        }
        Ok(written)
    }

    fn count(&self, snapshot: &Snapshot, status: &Value) {
        let Ok(view) = &snapshot.view else { return };
        let metrics = &self.metrics;
        let (now, phase) =
            (self.shared.clock.now(), status["phase"].as_str().and_then(Phase::read));
        if let Some(phase) = phase {
            let age = now.duration_since(view.machine.created);
            metrics.reached(phase, age.try_into().unwrap_or_default());
        }
        if view.is_overdue(now) && !matches!(phase, Some(Phase::Running | Phase::Failed)) {
            metrics.creation_timed_out(&view.machine.meta.uid);
        }
    }

    /// A stock CRD drops unknown fields silently, so the stored object shows whether they are served.
    fn learn_served_fields(&self, key: &ObjectKey, written: &Value) {
        let Some(Entry::Known(machine)) = self.machines.get(key) else { return };
        if written["failureMessage"].is_string() {
            let kept = machine.status.failure_message.is_some();
            *self.failure_fields.lock() = Field::learned(kept);
        }
        if written.get("authoritativeAPI").is_some() {
            let field = Field::learned(machine.status.authority != MachineAuthority::Unset);
            *self.authority_field.lock() = field;
            if field == Field::Dropped {
                // The write has changed nothing, so it does not requeue the Machine.
                self.triggers.access.requeue()(key);
            }
        }
    }
}

impl Controller for MachineController {
    type Snapshot = Snapshot;
    type Plan = Plan;
    type Outcome = Outcome;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.machines.clone(), self.nodes.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        self.triggers.subscribe(queue);
        self.migration.subscribe(queue, &self.machines);
        let (instances, refused) = (self.instances.clone(), Arc::clone(&self.refused));
        let (drainer, metrics) = (Arc::clone(&self.drainer), Arc::clone(&self.metrics));
        let (repairs, edited) = (Arc::clone(&self.repairs), Arc::clone(queue));
        self.machines.subscribe(move |change| {
            if let (Some(Entry::Known(before)), Some(Entry::Known(after))) =
                (change.before, change.after)
                && before.provider_spec != after.provider_spec
            {
                // It was compared with the former spec, possibly by a reconcile since the change.
                instances.forget(&after.meta.uid);
                repairs.forget(&after.meta.uid);
                edited.add_changed(change.key, change);
            }
            if let (Some(gone), None) = (change.before, change.after) {
                let uid = &gone.meta().uid;
                metrics.forget(change.key, uid);
                instances.forget(uid);
                refused.lock().remove(uid);
                drainer.forget(uid);
                repairs.forget(uid);
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
        let outcome = act::act(self, snapshot, plan, writer).await;
        if let Outcome::CallFailed(call, error) = &outcome {
            self.metrics.call_failed(*call, &snapshot.meta.key, error.category());
        }
        outcome
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

    async fn write_status(
        &self,
        snapshot: &Snapshot,
        _plan: &Plan,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        self.patch_status(snapshot, status, &"update status", writer).await
    }

    fn regarding<'a>(&self, snapshot: &'a Snapshot) -> Regarding<'a> {
        Regarding { resource: MACHINES, meta: &snapshot.meta }
    }
}

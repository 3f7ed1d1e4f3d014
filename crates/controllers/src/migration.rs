//! The feature gate MachineAPIMigration: whether `authoritativeAPI` of Machines and MachineSets is obeyed. The flag
//! wins; without it OpenShift's FeatureGate `cluster` decides, which is watched. On other clusters the gate is off.

use std::fmt;
use std::sync::{Arc, OnceLock};

use machinist_api::names::GATE_MIGRATION;
use machinist_api::resource::FEATURE_GATES;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;
use parking_lot::Mutex;

use crate::first_list::{self, Target};
use crate::kinds::{FeatureGate, FeatureGates};
use crate::openshift::OpenShift;
use crate::served::Field;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Off,
    On,
    /// It exists and must not be read. An object that names the other API is left alone, any other is managed.
    Forbidden,
}

impl Gate {
    fn of(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }

    /// Whether to obey `authoritativeAPI`, and whether the served schema has it in the status: a gate that must not be
    /// read is as a schema without the field, where only what is set counts.
    pub(crate) fn rules(self, status_field: Field) -> (bool, Field) {
        match self {
            Self::Off => (false, status_field),
            Self::On => (true, status_field),
            Self::Forbidden => (true, Field::Dropped),
        }
    }
}

/// The gate, as one controller sees it.
pub(crate) struct MigrationGate {
    controller: &'static str,
    flag: Option<bool>,
    shared: Arc<Shared>,
    openshift: OpenShift,
    watch: OnceLock<Arc<Cache<FeatureGates>>>,
    requeue: Arc<OnceLock<Requeue>>,
    reported: Mutex<Gate>,
}

/// Requeues all objects of the controller.
type Requeue = Box<dyn Fn() + Send + Sync>;

impl fmt::Debug for MigrationGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrationGate").field("flag", &self.flag).finish_non_exhaustive()
    }
}

impl MigrationGate {
    /// `flag` is the value of `--feature-gates`, if it names the gate.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        openshift: &OpenShift,
        controller: &'static str,
        flag: Option<bool>,
    ) -> Self {
        let requeue = Arc::<OnceLock<Requeue>>::default();
        if flag.is_none() {
            let all = Arc::clone(&requeue);
            openshift.when_served(FEATURE_GATES, move || requeue_all(&all));
        }
        Self {
            controller,
            flag,
            shared: Arc::clone(shared),
            openshift: openshift.clone(),
            watch: OnceLock::new(),
            requeue,
            reported: Mutex::new(Gate::Off),
        }
    }

    /// Requeues the objects whenever the gate changes.
    pub(crate) fn subscribe<K: Kind>(&self, queue: &Arc<Queue>, objects: &Arc<Cache<K>>) {
        let (queue, objects) = (Arc::clone(queue), Arc::clone(objects));
        self.requeue.get_or_init(|| {
            Box::new(move || {
                for key in &objects.keys() {
                    queue.add(key);
                }
            })
        });
    }

    /// The gate. An error means that it is not known yet.
    pub(crate) async fn get(&self) -> Result<Gate, ApiError> {
        if let Some(flag) = self.flag {
            return Ok(Gate::of(flag));
        }
        let (gate, error) = match self.read().await {
            Ok(enabled) => (Gate::of(enabled), None),
            Err(error) if error.code() == Some(403) => (Gate::Forbidden, Some(error)),
            Err(error) => return Err(error),
        };
        if std::mem::replace(&mut *self.reported.lock(), gate) != gate {
            self.report(gate, error.as_ref());
        }
        Ok(gate)
    }

    async fn read(&self) -> Result<bool, ApiError> {
        if self.watch.get().is_none()
            && !self.openshift.serves(FEATURE_GATES).await.map_err(|error| error.cause)?
        {
            return Ok(false);
        }
        let key = ObjectKey::new("", "cluster");
        let watch = self.watch.get_or_init(|| self.open(key.clone()));
        let (target, patience) =
            (|| Target::Other(FEATURE_GATES.to_string()), self.shared.timings.request);
        first_list::wait(watch, target, patience).await.map_err(|error| error.cause)?;
        match watch.get(&key) {
            None => Ok(false),
            Some(Entry::Known(gates)) => Ok(gates.migration),
            Some(Entry::Undecodable(object)) => Err(ApiError::NotUnderstood(object.error.clone())),
        }
    }

    fn open(&self, key: ObjectKey) -> Arc<Cache<FeatureGates>> {
        let scope = Scope::Object(key);
        let watch = self.shared.caches.open(&self.shared.control, scope, FeatureGates);
        let requeue = Arc::clone(&self.requeue);
        watch.subscribe(move |change| {
            let state = |entry: Option<&Entry<FeatureGate>>| {
                entry.map(|entry| match entry {
                    Entry::Known(gates) => Some(gates.migration),
                    Entry::Undecodable(_) => None,
                })
            };
            if state(change.before) != state(change.after) {
                requeue_all(&requeue);
            }
        });
        watch
    }

    fn report(&self, gate: Gate, error: Option<&ApiError>) {
        let controller = self.controller;
        match (gate, error) {
            (_, Some(error)) => tracing::warn!(
                %error, controller, gate = GATE_MIGRATION,
                "cannot read FeatureGate cluster: only objects that name another machine API are left alone; \
                 grant get, list and watch on featuregates, or set the gate with --feature-gates"
            ),
            (gate, None) => {
                tracing::info!(
                    controller,
                    gate = GATE_MIGRATION,
                    on = gate == Gate::On,
                    "feature gate"
                );
            }
        }
    }
}

fn requeue_all(requeue: &OnceLock<Requeue>) {
    if let Some(requeue) = requeue.get() {
        requeue();
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::machine::MachineAuthority::{self, ClusterApi, MachineApi, Unset};

    use super::*;
    use crate::served::authority;

    fn manager(gate: Gate, status: MachineAuthority, spec: MachineAuthority) -> MachineAuthority {
        match gate.rules(Field::Served) {
            (false, _) => MachineApi,
            (true, field) => authority(status, spec, field),
        }
    }

    #[test]
    fn a_forbidden_gate_leaves_alone_what_names_the_other_api_and_manages_the_rest() {
        for (gate, status, spec, expected) in [
            (Gate::Off, ClusterApi, Unset, MachineApi),
            (Gate::On, ClusterApi, Unset, ClusterApi),
            (Gate::On, Unset, Unset, Unset),
            (Gate::Forbidden, ClusterApi, MachineApi, ClusterApi),
            (Gate::Forbidden, Unset, ClusterApi, ClusterApi),
            (Gate::Forbidden, Unset, Unset, MachineApi),
        ] {
            assert_eq!(manager(gate, status, spec), expected, "{gate:?} {status:?} {spec:?}");
        }
    }
}

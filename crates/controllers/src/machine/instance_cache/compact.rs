//! Compact forms of observations and queries: the provider status as JSON text. A tree of JSON values takes
//! six times as much memory, and a thousand Machines may be queried within half a minute.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_provider::cloud::{
    Instance, InstanceState, MachineRef, ObservedInstance, ProviderStatus,
};
use serde_json::value::RawValue;

/// A compact observation.
#[derive(Clone)]
pub(super) enum CompactInstance {
    /// An instance without its provider status, and the text of that.
    Instance(Arc<Instance>, Box<RawValue>),
    /// No provider status.
    Plain(ObservedInstance),
}

impl CompactInstance {
    pub(super) fn is_running(&self) -> bool {
        match self {
            Self::Instance(instance, _) | Self::Plain(Observed::Present(instance)) => {
                instance.state == InstanceState::Running
            }
            Self::Plain(Observed::NotAsked | Observed::Unknown(_) | Observed::Absent) => false,
        }
    }

    pub(super) fn expand(&self) -> ObservedInstance {
        match self {
            Self::Plain(observed) => observed.clone(),
            Self::Instance(instance, status) => {
                let status = ProviderStatus::read(Some(status));
                Observed::Present(Arc::new(Instance { status, ..Instance::clone(instance) }))
            }
        }
    }
}

impl From<ObservedInstance> for CompactInstance {
    fn from(observed: ObservedInstance) -> Self {
        let Observed::Present(instance) = observed else { return Self::Plain(observed) };
        match serde_json::value::to_raw_value(&instance.status.0) {
            Ok(text) if !instance.status.is_empty() => {
                let mut bare = Arc::unwrap_or_clone(instance);
                bare.status = ProviderStatus::default();
                Self::Instance(Arc::new(bare), text)
            }
            _ => Self::Plain(Observed::Present(instance)),
        }
    }
}

/// A compact query.
pub(super) struct CompactMachine {
    /// Without its provider status, if `status` has it.
    machine: MachineRef,
    status: Option<Box<RawValue>>,
}

impl CompactMachine {
    pub(super) fn new(machine: &MachineRef) -> Self {
        let text = serde_json::value::to_raw_value(&machine.status.0).ok();
        let Some(status) = text.filter(|_| !machine.status.is_empty()) else {
            return Self { machine: machine.clone(), status: None };
        };
        let machine = MachineRef {
            key: machine.key.clone(),
            uid: machine.uid.clone(),
            attempt: machine.attempt,
            cluster: Arc::clone(&machine.cluster),
            cluster_label: machine.cluster_label.clone(),
            access: machine.access.clone(),
            spec: Arc::clone(&machine.spec),
            provider_id: machine.provider_id.clone(),
            status: ProviderStatus::default(),
            created: machine.created,
        };
        Self { machine, status: Some(status) }
    }

    pub(super) fn key(&self) -> &ObjectKey {
        &self.machine.key
    }

    pub(super) fn expand(&self) -> MachineRef {
        let machine = self.machine.clone();
        match &self.status {
            None => machine,
            Some(status) => MachineRef { status: ProviderStatus::read(Some(status)), ..machine },
        }
    }
}

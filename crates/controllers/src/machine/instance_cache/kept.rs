//! What is kept of instances and questions: the provider's part of them as text. As a tree of JSON values it takes six times as much, and a thousand
//! machines that come up together are asked about and seen within the same half minute.

use std::sync::Arc;

use machinist_provider::cloud::{Instance, InstanceState, MachineRef, ProviderStatus, Sighting};
use serde_json::value::RawValue;

/// A sighting, as small as it gets.
pub(super) enum Kept {
    /// An instance without its provider status, and that.
    Instance(Arc<Instance>, Box<RawValue>),
    /// Nothing is seen, or nothing is to be gained.
    AsItIs(Sighting),
}

impl Kept {
    /// Whether it is an instance that runs.
    pub(super) fn is_running(&self) -> bool {
        match self {
            Self::Instance(instance, _) | Self::AsItIs(Sighting::Present(instance)) => {
                instance.state == InstanceState::Running
            }
            Self::AsItIs(Sighting::NotAsked | Sighting::Unknown(_) | Sighting::Absent) => false,
        }
    }

    /// What was seen.
    pub(super) fn sighting(&self) -> Sighting {
        match self {
            Self::AsItIs(sighting) => sighting.clone(),
            Self::Instance(instance, status) => {
                let status = ProviderStatus::read(Some(status));
                Sighting::Present(Arc::new(Instance { status, ..Instance::clone(instance) }))
            }
        }
    }
}

impl From<Sighting> for Kept {
    fn from(sighting: Sighting) -> Self {
        let Sighting::Present(instance) = sighting else { return Self::AsItIs(sighting) };
        match serde_json::value::to_raw_value(&instance.status.0) {
            Ok(text) if !instance.status.is_empty() => {
                let mut bare = Arc::unwrap_or_clone(instance);
                bare.status = ProviderStatus::default();
                Self::Instance(Arc::new(bare), text)
            }
            _ => Self::AsItIs(Sighting::Present(instance)),
        }
    }
}

/// A machine that somebody is going to ask about.
pub(super) struct KeptRef {
    /// Without its provider status, where there is a text of it.
    machine: MachineRef,
    status: Option<Box<RawValue>>,
}

impl KeptRef {
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

    /// The machine as it was.
    pub(super) fn whole(self) -> MachineRef {
        let Self { machine, status } = self;
        match status {
            None => machine,
            Some(status) => MachineRef { status: ProviderStatus::read(Some(&status)), ..machine },
        }
    }
}

//! What is kept of a sighting: the provider's part of it as text. As a tree of JSON values it takes six times as much, and a thousand machines that come up
//! together are seen within the same half minute.

use std::sync::Arc;

use machinist_provider::cloud::{Instance, InstanceState, ProviderStatus, Sighting};
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

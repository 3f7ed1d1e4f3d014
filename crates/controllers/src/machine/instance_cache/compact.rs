//! Compact forms of observations and queries: the provider status as JSON text. A tree of JSON values takes
//! six times as much memory, and a thousand Machines may be queried within half a minute.

use std::sync::Arc;

use machinist_domain::observed::Observed;
use machinist_provider::cloud::{
    Instance, InstanceState, MachineRef, ObservedInstance, ProviderStatus,
};
use serde_json::value::RawValue;

/// An observation; the provider status of its instance is in `status`, unless it is empty.
#[derive(Clone)]
pub(super) struct CompactInstance {
    pub(super) observed: ObservedInstance,
    status: Option<Box<RawValue>>,
}

impl CompactInstance {
    pub(super) fn is_running(&self) -> bool {
        let instance = self.observed.present();
        instance.is_some_and(|instance| instance.state == InstanceState::Running)
    }

    pub(super) fn expand(&self) -> ObservedInstance {
        match (&self.observed, &self.status) {
            (Observed::Present(instance), Some(status)) => {
                let status = ProviderStatus::read(Some(status));
                Observed::Present(Arc::new(Instance { status, ..Instance::clone(instance) }))
            }
            (observed, _) => observed.clone(),
        }
    }
}

impl From<ObservedInstance> for CompactInstance {
    fn from(mut observed: ObservedInstance) -> Self {
        let status = match &mut observed {
            Observed::Present(instance) if !instance.status.is_empty() => {
                take_text(&mut Arc::make_mut(instance).status)
            }
            _ => None,
        };
        Self { observed, status }
    }
}

/// A query; the provider status is in `status`, unless it is empty.
pub(super) struct CompactMachine {
    pub(super) machine: MachineRef,
    status: Option<Box<RawValue>>,
}

impl CompactMachine {
    pub(super) fn new(mut machine: MachineRef) -> Self {
        let status = take_text(&mut machine.status);
        Self { machine, status }
    }

    pub(super) fn expand(&self) -> MachineRef {
        let machine = self.machine.clone();
        match &self.status {
            None => machine,
            Some(status) => MachineRef { status: ProviderStatus::read(Some(status)), ..machine },
        }
    }
}

/// Empties the status; `None` if it is empty already, or has no JSON form.
fn take_text(status: &mut ProviderStatus) -> Option<Box<RawValue>> {
    let text = serde_json::value::to_raw_value(&status.0).ok().filter(|_| !status.is_empty())?;
    *status = ProviderStatus::default();
    Some(text)
}

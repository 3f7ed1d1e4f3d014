//! An example of a provider: machines on a hypervisor that exists only in memory.

mod cloud;
mod flavours;
pub mod hypervisor;
mod spec;

use std::sync::Arc;

use machinist_provider::capacity::Capacities;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

pub use crate::cloud::ExampleCloud;
use crate::hypervisor::Hypervisor;
pub use crate::spec::ExampleSpecs;

/// Both halves under one name.
#[derive(Debug, Clone, Default)]
pub struct ExampleProvider {
    hypervisor: Hypervisor,
}

impl ExampleProvider {
    /// For machines on this hypervisor.
    pub fn new(hypervisor: Hypervisor) -> Self {
        Self { hypervisor }
    }
}

impl Provider for ExampleProvider {
    fn name(&self) -> &'static str {
        "example"
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(ExampleSpecs)
    }

    fn cloud(&self, parts: &Parts) -> Arc<dyn Cloud> {
        Arc::new(ExampleCloud::new(self.hypervisor.clone(), parts.clone()))
    }
    // The flavours are fixed, so a table is enough. A provider that has to call its cloud returns a `CapacitySource`
    // as well.
    fn capacity(&self, _: &Parts) -> Capacities {
        Capacities { cloud: None, catalogue: Some(flavours::capacity) }
    }
}

//! The provider of the simulated cloud. Its capacities are constants.

use std::sync::Arc;

use machinist_provider::capacity::Capacities;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

use crate::client::SimClient;
use crate::spec::SimSpecs;
use crate::types;

pub const ENDPOINT_VARIABLE: &str = "MACHINIST_SIM_ENDPOINT";

#[derive(Debug, Clone, Default)]
pub struct SimProvider {
    endpoint: Option<String>,
}

impl SimProvider {
    pub fn at(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()) }
    }

    /// With the endpoint in `MACHINIST_SIM_ENDPOINT`, else that of each machine's access.
    pub fn from_environment() -> Self {
        let endpoint = std::env::var(ENDPOINT_VARIABLE).ok();
        Self { endpoint: endpoint.filter(|endpoint| !endpoint.is_empty()) }
    }
}

impl Provider for SimProvider {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(SimSpecs)
    }

    fn cloud(&self, parts: &Parts) -> Arc<dyn Cloud> {
        Arc::new(SimClient::new(self.endpoint.clone(), parts.clone()))
    }

    fn capacity(&self, _: &Parts) -> Capacities {
        Capacities { cloud: None, catalogue: Some(types::capacity) }
    }
}

//! Both halves of the simulated cloud's provider under one name, and its capacities, which need no question.

use std::sync::Arc;

use machinist_provider::capacity::Capacities;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

use crate::client::SimClient;
use crate::spec::SimSpecs;
use crate::types;

/// The environment variable that says where the cloud is.
pub const ENDPOINT_VARIABLE: &str = "MACHINIST_SIM_ENDPOINT";

/// The provider of the simulated cloud.
#[derive(Debug, Clone, Default)]
pub struct SimProvider {
    endpoint: Option<String>,
}

impl SimProvider {
    /// For the cloud at this endpoint.
    pub fn at(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()) }
    }

    /// For the cloud that `MACHINIST_SIM_ENDPOINT` names; without it, wherever the realm of a machine says.
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

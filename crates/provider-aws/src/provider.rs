//! Both halves of AWS under one name.

use std::fmt;
use std::sync::Arc;

use machinist_aws_spec::AwsSpecs;
use machinist_provider::capacity::CapacitySource;
use machinist_provider::cloud::Cloud;
use machinist_provider::parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

use crate::machines::{Ec2Machines, NoSurroundings, Surroundings};
use crate::tls::HttpClients;
use crate::types::{Ec2Types, Parts, TypeTimings};

/// The provider of AWS.
#[derive(Clone)]
pub struct AwsProvider {
    surroundings: Arc<dyn Surroundings>,
    http: Arc<HttpClients>,
}

impl fmt::Debug for AwsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsProvider").finish_non_exhaustive()
    }
}

impl Default for AwsProvider {
    fn default() -> Self {
        Self::within(Arc::new(NoSurroundings))
    }
}

impl AwsProvider {
    /// For a cluster that says something about all of its machines alike.
    pub fn within(surroundings: Arc<dyn Surroundings>) -> Self {
        Self { surroundings, http: Arc::default() }
    }
}

impl Provider for AwsProvider {
    fn name(&self) -> &'static str {
        "aws"
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(AwsSpecs)
    }

    fn cloud(&self, parts: &parts::Parts) -> Arc<dyn Cloud> {
        let surroundings = Arc::clone(&self.surroundings);
        Arc::new(Ec2Machines::new(parts, surroundings, Arc::clone(&self.http)))
    }

    fn capacity(&self, parts: &parts::Parts) -> Option<Arc<dyn CapacitySource>> {
        let parts = Parts {
            secrets: Arc::clone(&parts.secrets),
            witness: Arc::clone(&parts.witness),
            clock: Arc::clone(&parts.clock),
            timings: TypeTimings {
                retry_base: parts.timings.retry_base,
                retry_max: parts.timings.retry_max,
                ..TypeTimings::default()
            },
            spawn: Arc::clone(&parts.spawn),
            page_size: None,
        };
        Some(Ec2Types::sharing(parts, Arc::clone(&self.http)))
    }
}

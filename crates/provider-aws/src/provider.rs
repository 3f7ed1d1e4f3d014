//! Both halves of AWS under one name.

use std::fmt;
use std::sync::Arc;

use machinist_aws_spec::{AwsSpecs, PROVIDER, catalogue};
use machinist_provider::capacity::{Capacities, Realm};
use machinist_provider::cloud::Cloud;
use machinist_provider::node_groups::NodeGroups;
use machinist_provider::parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

use crate::groups::{self, AutoScaling};
use crate::machines::Ec2Machines;
use crate::tls::HttpClients;
use crate::types::{Ec2Types, Parts, TypeTimings};

/// The provider of AWS.
#[derive(Clone, Default)]
pub struct AwsProvider {
    http: Arc<HttpClients>,
}

impl fmt::Debug for AwsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsProvider").finish_non_exhaustive()
    }
}

impl AwsProvider {
    /// Auto Scaling groups, asked about as this realm says but for its region, which every call names.
    pub fn node_groups_as(&self, parts: &parts::Parts, realm: Realm) -> Arc<dyn NodeGroups> {
        Arc::new(AutoScaling::new(parts, realm, Arc::clone(&self.http)))
    }
}

impl Provider for AwsProvider {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(AwsSpecs)
    }

    fn cloud(&self, parts: &parts::Parts) -> Arc<dyn Cloud> {
        Arc::new(Ec2Machines::new(parts, Arc::clone(&self.http)))
    }

    fn node_groups(&self, parts: &parts::Parts) -> Option<Arc<dyn NodeGroups>> {
        Some(self.node_groups_as(parts, groups::ambient()))
    }

    fn capacity(&self, parts: &parts::Parts) -> Capacities {
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
        let cloud = Ec2Types::sharing(parts, Arc::clone(&self.http));
        Capacities { cloud: Some(cloud), catalogue: Some(catalogue::capacity) }
    }
}

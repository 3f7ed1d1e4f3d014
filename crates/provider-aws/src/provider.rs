use std::sync::Arc;

use machinist_aws_spec::{AwsSpecs, PROVIDER, catalogue};
use machinist_provider::access::CloudAccess;
use machinist_provider::capacity::Capacities;
use machinist_provider::cloud::Cloud;
use machinist_provider::node_groups::NodeGroups;
use machinist_provider::parts::Parts;
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;

use crate::client::Connector;
use crate::groups::{self, AutoScaling};
use crate::machines::Ec2Machines;
use crate::tls::HttpClients;
use crate::types::{Ec2Types, TypeTimings};

/// The provider of AWS.
#[derive(Debug, Clone, Default)]
pub struct AwsProvider {
    http: Arc<HttpClients>,
}

impl AwsProvider {
    /// Auto Scaling groups with this access; its region is replaced by that of each call.
    pub fn node_groups_as(&self, parts: &Parts, access: CloudAccess) -> Arc<dyn NodeGroups> {
        let connector = Connector::new(parts, Arc::clone(&self.http));
        Arc::new(AutoScaling::new(parts, access, connector))
    }
}

impl Provider for AwsProvider {
    fn name(&self) -> &'static str {
        PROVIDER
    }

    fn specs(&self) -> Arc<dyn SpecHalf> {
        Arc::new(AwsSpecs)
    }

    fn cloud(&self, parts: &Parts) -> Arc<dyn Cloud> {
        Arc::new(Ec2Machines::new(parts, Connector::new(parts, Arc::clone(&self.http))))
    }

    fn node_groups(&self, parts: &Parts) -> Option<Arc<dyn NodeGroups>> {
        Some(self.node_groups_as(parts, groups::ambient()))
    }

    fn capacity(&self, parts: &Parts) -> Capacities {
        let timings = TypeTimings { retry: parts.timings.retry, ..TypeTimings::default() };
        let connector = Connector::new(parts, Arc::clone(&self.http));
        let cloud = Ec2Types::with(parts, timings, connector);
        Capacities { cloud: Some(cloud), catalogue: Some(catalogue::capacity) }
    }
}

//! What a cluster says about all of its machines alike (OpenShift's `Infrastructure`), as far as a launch needs it.

use machinist_domain::retry::Failure;
use machinist_provider::Pending;

/// What holds for every machine of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Tags for everything that is made (`status.platformStatus.aws.resourceTags`).
    pub resource_tags: Vec<(String, String)>,
    /// Which addresses machines have (`status.platformStatus.aws.ipFamily`).
    pub ip_family: IpFamily,
    /// Where load balancing is, if not where it usually is (`serviceEndpoints`, name `elasticloadbalancing`).
    pub load_balancing_endpoint: Option<String>,
}

/// Which addresses machines have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4 alone.
    #[default]
    Ipv4,
    /// Both, IPv4 first.
    DualStackIpv4Primary,
    /// Both, IPv6 first.
    DualStackIpv6Primary,
}

impl IpFamily {
    /// As OpenShift writes it; what is not known is IPv4.
    pub fn read(text: &str) -> Self {
        match text {
            "DualStackIPv4Primary" => Self::DualStackIpv4Primary,
            "DualStackIPv6Primary" => Self::DualStackIpv6Primary,
            _ => Self::Ipv4,
        }
    }
}

/// Says what holds for every machine of the cluster.
pub trait Surroundings: Send + Sync {
    /// What holds now.
    fn facts(&self) -> Pending<'_, Result<ClusterFacts, Failure>>;
}

/// A cluster that says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSurroundings;

impl Surroundings for NoSurroundings {
    fn facts(&self) -> Pending<'_, Result<ClusterFacts, Failure>> {
        Box::pin(std::future::ready(Ok(ClusterFacts::default())))
    }
}

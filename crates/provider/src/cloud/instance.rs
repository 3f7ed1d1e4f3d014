//! An instance in cloud-neutral terms.

use std::sync::Arc;

use machinist_domain::observed::Observed;

use super::machine::ProviderStatus;

/// `Unknown` never means that the instance is gone; where it is only too early to be certain, its failure is to be
/// retried `Again`. `Absent` means that there is none, and that none will appear from an earlier request.
pub type ObservedInstance = Observed<Arc<Instance>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub id: Arc<str>,
    /// The exact `spec.providerID` of Machine and Node.
    pub provider_id: Arc<str>,
    pub state: InstanceState,
    /// The cloud's own name of the state.
    pub state_text: Arc<str>,
    pub state_reason: Option<Arc<str>>,
    /// Addresses, in the provider's order.
    pub addresses: Vec<Address>,
    pub region: Option<Arc<str>>,
    pub zone: Option<Arc<str>>,
    pub instance_type: Option<Arc<str>>,
    /// Whether the cloud may reclaim it at any time (spot).
    pub interruptible: bool,
    /// Whether some facts could not be determined, so that it should be described again soon.
    pub uncertain: bool,
    /// What differs from the spec and [`Cloud::update`](super::Cloud::update) can repair; `None` if nothing does.
    pub drift: Option<String>,
    /// The complete `status.providerStatus` to store, `launch` included.
    pub status: ProviderStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    Pending,
    Running,
    /// It is stopping or stopped, and can be started again.
    Stopped,
    Terminating,
    /// It is terminated, and the cloud still lists it.
    Terminated,
}

impl InstanceState {
    /// Whether it may still run or cost money.
    pub fn exists(self) -> bool {
        self != Self::Terminated
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    pub kind: AddressKind,
    pub address: Arc<str>,
}

machinist_api::named_enum! {
    /// Address types of Kubernetes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AddressKind {
        InternalDns = "InternalDNS",
        InternalIp = "InternalIP",
        ExternalDns = "ExternalDNS",
        ExternalIp = "ExternalIP",
        Hostname,
    }
}

//! An instance in cloud-neutral terms.

use std::sync::Arc;

use machinist_domain::observed::Observed;

use super::machine::ProviderStatus;

/// The instance of a Machine.
///
/// `Unknown` never means that the instance is gone; where it is only too early to be certain, its failure is to be
/// retried `Again`. `Absent` means that there is none, and that none will appear from an earlier request.
pub type ObservedInstance = Observed<Arc<Instance>>;

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The cloud's id.
    pub id: Arc<str>,
    /// The exact `spec.providerID` of Machine and Node.
    pub provider_id: Arc<str>,
    /// The state.
    pub state: InstanceState,
    /// The cloud's own name of the state.
    pub state_text: Arc<str>,
    /// The cloud's reason for the state.
    pub state_reason: Option<Arc<str>>,
    /// Addresses, in the provider's order.
    pub addresses: Vec<Address>,
    /// The region.
    pub region: Option<Arc<str>>,
    /// The zone.
    pub zone: Option<Arc<str>>,
    /// The instance type.
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

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    /// It is being created.
    Pending,
    /// It is running.
    Running,
    /// It is stopping or stopped, and can be started again.
    Stopped,
    /// It is being terminated.
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

/// An address of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// The kind.
    pub kind: AddressKind,
    /// The address.
    pub address: Arc<str>,
}

/// Address types of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// `InternalDNS`.
    InternalDns,
    /// `InternalIP`.
    InternalIp,
    /// `ExternalDNS`.
    ExternalDns,
    /// `ExternalIP`.
    ExternalIp,
    /// `Hostname`.
    Hostname,
}

impl AddressKind {
    /// The name in the Kubernetes API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InternalDns => "InternalDNS",
            Self::InternalIp => "InternalIP",
            Self::ExternalDns => "ExternalDNS",
            Self::ExternalIp => "ExternalIP",
            Self::Hostname => "Hostname",
        }
    }
}

//! What a cloud says about an instance, in no cloud's terms.

use std::sync::Arc;

use machinist_domain::retry::Failure;

use super::machine::ProviderStatus;

/// What is known of a machine's instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// Nobody has asked yet.
    NotAsked,
    /// It could not be found out. Never a reason to believe that the instance is gone. Where it is only too early to tell, the failure is to
    /// be tried `Again`, and nobody is told of it.
    Unknown(Failure),
    /// The cloud was asked, and there is none, and none will appear from an earlier request.
    Absent,
    /// There it is, or what is left of it.
    Present(Arc<Instance>),
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The cloud's name for it.
    pub id: Arc<str>,
    /// What stands in `spec.providerID` of Machine and Node, letter by letter.
    pub provider_id: Arc<str>,
    /// What it is doing.
    pub state: InstanceState,
    /// The cloud's own word for that, and its reason where it gives one.
    pub state_text: Arc<str>,
    /// Why it is in this state, where the cloud says.
    pub state_reason: Option<Arc<str>>,
    /// Where it can be reached, in the order that the provider wants.
    pub addresses: Vec<Address>,
    /// Where it runs.
    pub region: Option<Arc<str>>,
    /// Where in the region.
    pub zone: Option<Arc<str>>,
    /// The cloud's name for its size.
    pub instance_type: Option<Arc<str>>,
    /// Whether the cloud may take it back at any time.
    pub interruptible: bool,
    /// Whether something about it could not be found out this time, so that it is worth another look before long.
    pub uncertain: bool,
    /// What differs from what the spec asks for and can be repaired in place, for people; `None`: nothing does.
    pub drift: Option<String>,
    /// What to store as `status.providerStatus`: everything that is to be there, `launch` included.
    pub status: ProviderStatus,
}

/// What an instance is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceState {
    /// It is being made.
    Pending,
    /// It runs.
    Running,
    /// It was stopped, or is being stopped, and could be started again.
    Stopped,
    /// It is being removed.
    Terminating,
    /// It is gone for good; the cloud still remembers it.
    Terminated,
}

impl InstanceState {
    /// Whether there is still something that costs money or may run.
    pub fn exists(self) -> bool {
        self != Self::Terminated
    }
}

/// Where an instance can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// What kind of address.
    pub kind: AddressKind,
    /// The address.
    pub address: Arc<str>,
}

/// Kinds of addresses, as Kubernetes names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// A name inside of the network.
    InternalDns,
    /// An address inside of the network.
    InternalIp,
    /// A name on the outside.
    ExternalDns,
    /// An address on the outside.
    ExternalIp,
    /// What the machine calls itself.
    Hostname,
}

impl AddressKind {
    /// The type as Kubernetes writes it.
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

//! The cloud half of a provider (the actuator): creates, describes, updates and deletes instances.
//!
//! Every call is keyed by the Machine's uid and its stored attempt, never by a name, so repeating a call is safe even
//! if the first response was lost. A provider keeps no state that a restart would lose.
//!
//! `create`, `update` and `delete` run within a [`permit`](crate::permit), which ends with the lease: check it directly
//! before each request that changes something. Not here: waiting, retrying and batching. The controllers do that for
//! all providers.

pub mod absence;
pub mod error;
pub mod instance;
pub mod machine;
pub mod ownership;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use self::error::{CloudError, Effect, ErrorClass, FailureDomain};
pub use self::instance::{Address, AddressKind, Instance, InstanceState, ObservedInstance};
pub use self::machine::{MachineRef, ProviderStatus};
use crate::Pending;

/// The actuator. Implementations are shared by all workers.
pub trait Cloud: Debug + Send + Sync {
    /// Resolves and fixes every value of the create request, so that each repeat of [`create`](Self::create) is the
    /// same request. Changes nothing in the cloud. The result is stored as `status.providerStatus` before `create` is
    /// called; its `launch` object has the machine's `attempt`.
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>>;

    /// Creates the instance, or returns the one that the same uid and attempt created. Uses only the stored `launch`.
    /// May return before the instance runs.
    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>>;

    /// The instance of each machine, in the same order, with as few requests as possible. An instance that may exist
    /// without being listed yet is [`ObservedInstance::Unknown`], never `Absent`: while the outcome of a stored
    /// `launch` is unknown, and for a while after a create. Calling [`create`](Self::create) again is always safe.
    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<ObservedInstance>>;

    /// Repairs [`Instance::drift`]: tags, load balancers. [`ErrorClass::NotFound`] if there is no instance.
    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>>;

    /// Deletes the instance and everything that belongs to it. Call it again until it returns [`Deletion::Gone`].
    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>>;

    /// All instances with this cluster's tags that are not terminated.
    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>>;

    /// Deletes this one listed instance, and no other of its Machine: an orphan. Reads it again first and changes
    /// nothing, with [`ErrorClass::Conflict`], if its tags do not name the same cluster and Machine any more. Call it
    /// again until it returns [`Deletion::Gone`].
    fn delete_orphan<'a>(
        &'a self,
        within: &'a Reach,
        orphan: &'a Owned,
    ) -> Pending<'a, Result<Deletion, CloudError>>;

    /// The status of a machine whose [`create`](Self::create) failed; `None` if that is not recorded.
    fn failed_status(
        &self,
        _status: &ProviderStatus,
        _message: &str,
        _now: jiff::Timestamp,
    ) -> Option<ProviderStatus> {
        None
    }

    /// The service whose endpoint [`CloudAccess::endpoint`](crate::access::CloudAccess::endpoint) is, by its name in
    /// OpenShift's `serviceEndpoints`; `None` if it needs none.
    fn endpoint_service(&self) -> Option<&'static str> {
        None
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// In progress; the text names what it waits for.
    UnderWay(String),
    /// Nothing is left: no instance, volume, interface, host or load-balancer target. Never returned while an instance
    /// may exist that the cloud does not list yet.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reach {
    pub access: crate::access::CloudAccess,
    pub cluster: std::sync::Arc<str>,
}

/// A listed instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub machine_uid: machinist_domain::key::Uid,
    /// The create attempt of that Machine, if the cloud knows it.
    pub attempt: Option<u32>,
    /// All of its tags.
    pub tags: BTreeMap<String, String>,
    pub instance: Instance,
    /// When it was launched; `None` if the cloud does not know it.
    pub created: Option<jiff::Timestamp>,
}

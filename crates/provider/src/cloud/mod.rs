//! The cloud half of a provider: what creates, shows, repairs and removes the instances behind machines.
//!
//! Everything here is keyed by the Machine's uid and the attempt that is stored on it, never by a name: asking twice for the same
//! is the same as asking once, whatever became of the first answer. A provider keeps no truth in memory.
//!
//! * [`machine`]: what a provider is told about a machine, and what is stored on it in the provider's own words.
//! * [`instance`]: what a cloud says about an instance.
//! * [`error`]: why it could not do what it was asked.
//! * [`ownership`]: how an instance says whose it is; [`absence`]: when "not found" may be believed.
//!
//! Not here: waiting, retrying, batching and the lease; the controllers do that for all providers alike.

pub mod absence;
pub mod error;
pub mod instance;
pub mod machine;
pub mod ownership;

use std::fmt::Debug;

pub use self::error::{CloudError, Effect, ErrorClass, FailureDomain};
pub use self::instance::{Address, AddressKind, Instance, InstanceState, Sighting};
pub use self::machine::{MachineRef, ProviderStatus};
use crate::Pending;

/// Calls a cloud. Implementations are shared by all workers.
pub trait Cloud: Debug + Send + Sync {
    /// Finds out everything that creating the instance needs and fixes it, so that a repeat of [`create`](Self::create) is the same request
    /// whatever has changed in the cloud since. Changes nothing there. The result is stored as `status.providerStatus` before `create` is
    /// called; it has a `launch` object whose `attempt` is the machine's.
    fn prepare<'a>(
        &'a self,
        machine: &'a MachineRef,
    ) -> Pending<'a, Result<ProviderStatus, CloudError>>;

    /// Creates the instance, or finds the one that the same uid and attempt created before. Reads nothing but the machine's stored
    /// `launch`. May return long before the instance runs.
    fn create<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>>;

    /// What is known of each machine's instance: one answer per machine, in the same order. The cloud is asked for all of them together.
    ///
    /// An instance that may exist without being shown yet is [`Sighting::Unknown`], never `Absent`: while the outcome of a stored `launch`
    /// is not known, and for a while after an instance was made. Calling [`create`](Self::create) again is safe in either case.
    fn describe<'a>(&'a self, machines: &'a [MachineRef]) -> Pending<'a, Vec<Sighting>>;

    /// Repairs what [`Instance::drift`] names: tags, load balancers. [`ErrorClass::NotFound`] where there is no instance.
    fn update<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Instance, CloudError>>;

    /// Removes the instance and everything that came with it. To be called again until it is [`Deletion::Gone`].
    fn delete<'a>(&'a self, machine: &'a MachineRef) -> Pending<'a, Result<Deletion, CloudError>>;

    /// Every instance in the reach of `machine`'s realm that carries this cluster's tags, followed to the last page.
    fn list<'a>(&'a self, within: &'a Reach) -> Pending<'a, Result<Vec<Owned>, CloudError>>;
}

/// How far a deletion has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// It has begun; the cloud needs time. The text says what it is waiting for.
    UnderWay(String),
    /// Nothing is left: no instance, volume, interface, host or load-balancer entry. Never said while an instance may exist that
    /// the cloud does not show yet.
    Gone,
}

/// Where to look for instances.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reach {
    /// Whom to ask, as whom.
    pub realm: crate::capacity::Realm,
    /// Whose instances.
    pub cluster: std::sync::Arc<str>,
}

/// An instance that says whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The Machine that it was made for.
    pub machine_uid: machinist_domain::key::Uid,
    /// The instance.
    pub instance: Instance,
    /// When the cloud says it was made, if it says.
    pub created: Option<jiff::Timestamp>,
}

//! The capacity of instance types. [`CapacitySource::look`] never waits: it returns what is known, and requests the
//! rest in the background. The source retries by itself and calls its listeners when an answer arrives or changes.

use std::fmt;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::observed::Observed;
use machinist_domain::shape::Capacity;

use crate::access::CloudAccess;

/// The capacity of an instance type. `Unknown` is retried by the source, unless the failure waits for a change.
pub type ObservedCapacity = Observed<Capacity>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    pub access: CloudAccess,
    pub instance_type: Arc<str>,
}

/// Called with the access and the types whose answers arrived or changed.
pub type Listener = Box<dyn Fn(&CloudAccess, &[Arc<str>]) + Send + Sync>;

/// A table of instance types that needs no request.
pub type Catalogue = fn(&str) -> Option<Capacity>;

/// Where a provider's capacities come from. A provider that has neither source gets no capacity annotations.
#[derive(Debug, Clone, Default)]
pub struct Capacities {
    pub cloud: Option<Arc<dyn CapacitySource>>,
    /// A table, for a provider without `cloud` and for outages of the cloud.
    pub catalogue: Option<Catalogue>,
}

pub trait CapacitySource: fmt::Debug + Send + Sync {
    fn look(&self, question: &Question) -> ObservedCapacity;

    /// Drops everything that was requested with this Secret.
    fn forget(&self, secret: &ObjectKey);

    /// Adds a listener. It must not block.
    fn listen(&self, listener: Listener);

    /// As [`Cloud::endpoint_service`](crate::cloud::Cloud::endpoint_service).
    fn endpoint_service(&self) -> Option<&'static str> {
        None
    }
}

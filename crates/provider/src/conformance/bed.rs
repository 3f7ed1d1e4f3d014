//! What the suite needs from a provider crate.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::Uid;
use serde_json::value::RawValue;

use crate::Pending;
use crate::access::CloudAccess;
use crate::cloud::Cloud;
use crate::cloud::ownership::Ownership;
use crate::spec::SpecHalf;

/// A provider, its cloud, and ways to inject faults.
pub trait Bed: Send + Sync {
    fn specs(&self) -> Arc<dyn SpecHalf>;

    /// The cloud half. Its consistency window is slightly longer than [`Fault::Unlisted`] lasts.
    fn cloud(&self) -> Arc<dyn Cloud>;

    fn access(&self) -> CloudAccess;

    /// A spec whose instance runs soon.
    fn good_spec(&self) -> Arc<RawValue>;

    /// The good spec with another value of a hot field ([`SpecHalf::hot_fields`]), which its instance then lacks.
    /// Required for each of them.
    fn hot_spec(&self, _field: &str) -> Option<Arc<RawValue>> {
        None
    }

    /// A readable spec that cannot be created.
    fn impossible_spec(&self) -> Arc<RawValue>;

    /// The timeout for everything.
    fn patience(&self) -> Duration;

    fn set_fault(&self, fault: Fault) -> Pending<'_, ()>;

    /// Everything that was ever created for a machine, bypassing the provider.
    fn truth<'a>(&'a self, machine: &'a Uid) -> Pending<'a, Vec<Found>>;

    /// Changes something on a machine's instance that [`Cloud::update`] repairs.
    fn cause_drift<'a>(&'a self, machine: &'a Uid) -> Pending<'a, ()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    None,
    /// Creates succeed, and their responses are lost.
    LostResponses,
    /// New instances are not listed for a while.
    Unlisted,
    /// [`LostResponses`](Self::LostResponses) and [`Unlisted`](Self::Unlisted).
    LostAndUnlisted,
    NoCapacity,
    Throttled,
    Unauthorised,
    /// Every call fails with a server error.
    Unavailable,
    InvalidResponses,
    /// Lists have pages of two items, or the smallest that the cloud supports.
    SmallPages,
}

/// An instance as it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub id: Arc<str>,
    /// Whether it exists: pending, running, stopped or terminating.
    pub exists: bool,
    /// The number of resources of it that exist: volumes, interfaces, hosts, load-balancer targets.
    pub left: usize,
    pub ownership: Option<Ownership>,
}

//! Leader election with Leases.
//!
//! [`record`]: the content of a Lease; [`rules`]: the decision as a pure function; [`elector`]: acquires, renews,
//! releases; [`leadership`]: the writers' view. Every write of a Lease has a resourceVersion precondition, and expiry
//! is judged by how long *this process* has not seen the Lease change.

pub(crate) mod elector;
#[cfg(test)]
mod exploration;
mod leadership;
mod record;
mod rules;

use std::time::Duration;

pub use self::leadership::Leadership;

/// Namespace and duration of a Lease, if not the defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseCustom {
    pub namespace: Option<&'static str>,
    pub duration: Option<Duration>,
}

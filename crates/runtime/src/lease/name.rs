//! Which Lease a controller holds, and its candidate.

use std::time::Duration;

use machinist_domain::key::ObjectKey;

/// The Lease of a controller. Every controller has its own, whatever else runs in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseName {
    /// `machinist-<controller>`.
    Own,
    /// The Lease of another system's controller with the same purpose, so that the two never run at once.
    Shared(&'static str),
}

impl LeaseName {
    /// The name of the Lease object.
    pub fn of(self, controller: &str) -> String {
        match self {
            Self::Own => format!("machinist-{controller}"),
            Self::Shared(name) => name.to_owned(),
        }
    }
}

/// Namespace and duration of a Lease, if not the defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseCustom {
    /// The namespace.
    pub namespace: Option<&'static str>,
    /// The duration.
    pub duration: Option<Duration>,
}

/// A candidate for a lease.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The controller.
    pub controller: &'static str,
    /// Namespace and name of the Lease.
    pub key: ObjectKey,
    /// A unique name of this process.
    pub identity: String,
    /// Whether to take the lease from its holder, once, at the start.
    pub take_over: bool,
}

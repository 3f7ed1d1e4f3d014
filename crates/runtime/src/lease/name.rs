//! Which Lease a controller holds, and who wants it.

use std::time::Duration;

use machinist_domain::key::ObjectKey;

/// Which Lease a controller holds. Every controller has one of its own, whatever else runs in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseName {
    /// `machinist-<controller>`.
    Own,
    /// The one that another system's controller of the same purpose holds, too: so the two never run at once.
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

/// Where and for how long a Lease is held, where that is not as with all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseCustom {
    /// In this namespace.
    pub namespace: Option<&'static str>,
    /// For so long without being renewed.
    pub duration: Option<Duration>,
}

/// Somebody who wants a lease.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Whose lease, for logs and metrics.
    pub controller: &'static str,
    /// Namespace and name of the Lease.
    pub key: ObjectKey,
    /// Unique for this process.
    pub identity: String,
    /// Whether to take it once, at the start, from somebody who holds it.
    pub take_over: bool,
}

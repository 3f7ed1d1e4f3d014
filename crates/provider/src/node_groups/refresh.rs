//! A replacement of all members that the cloud does by itself (an instance refresh, as AWS calls it).

use std::fmt;
use std::sync::Arc;

/// The cloud's name for a refresh.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefreshId(pub Arc<str>);

impl fmt::Display for RefreshId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How to refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshPreferences {
    /// The share of the group that must stay healthy meanwhile, in percent from 0 to 100.
    pub min_healthy: u8,
}

/// What is known of a refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// Which one.
    pub id: RefreshId,
    /// How far it is.
    pub status: RefreshStatus,
    /// How much of the group is replaced, in percent.
    pub percentage: u8,
    /// Why it is where it is, in the cloud's own words.
    pub reason: Option<String>,
    /// When it was started.
    pub started: Option<jiff::Timestamp>,
}

/// How far a refresh is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefreshStatus {
    /// It waits for something else that the group does.
    Pending,
    /// Members are being replaced.
    InProgress,
    /// Everything is replaced.
    Successful,
    /// It gave up.
    Failed,
    /// Somebody stopped it, and it has not stopped yet.
    Cancelling,
    /// Somebody stopped it.
    Cancelled,
    /// Anything else, in the cloud's own word; it counts as running.
    Other(Arc<str>),
}

impl RefreshStatus {
    /// Whether it may still replace members.
    pub fn is_running(&self) -> bool {
        !matches!(self, Self::Successful | Self::Failed | Self::Cancelled)
    }
}

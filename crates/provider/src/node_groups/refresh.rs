//! An instance refresh: the cloud replaces all members by itself.

use std::fmt;
use std::sync::Arc;

/// The id of a refresh.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefreshId(pub Arc<str>);

impl fmt::Display for RefreshId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The preferences of a refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshPreferences {
    /// The minimum healthy percentage, 0 to 100.
    pub min_healthy: u8,
}

/// An instance refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// The id.
    pub id: RefreshId,
    /// The status.
    pub status: RefreshStatus,
    /// The percentage that is complete.
    pub percentage: u8,
    /// The cloud's reason for the status.
    pub reason: Option<String>,
    /// The start time.
    pub started: Option<jiff::Timestamp>,
}

/// The status of a refresh.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RefreshStatus {
    /// Waiting for another activity of the group.
    Pending,
    /// In progress.
    InProgress,
    /// Successful.
    Successful,
    /// Failed.
    Failed,
    /// Being cancelled.
    Cancelling,
    /// Cancelled.
    Cancelled,
    /// Another status; it counts as running.
    Other(Arc<str>),
}

impl RefreshStatus {
    /// Whether it may still replace members.
    pub fn is_running(&self) -> bool {
        !matches!(self, Self::Successful | Self::Failed | Self::Cancelled)
    }
}

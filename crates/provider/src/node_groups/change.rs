//! Changes of a group and their errors.

use std::fmt;

use machinist_domain::retry::{Category, Classified, Retry};

use super::{InstanceId, Sizes};
use crate::cloud::CloudError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupChange {
    /// Replace the stored text. One that does not pass [`mark::fits`](super::mark::fits) is
    /// [`InvalidConfiguration`](crate::cloud::ErrorClass::InvalidConfiguration).
    Mark(String),
    /// Remove the stored text. Succeeds also for a group that does not exist.
    Unmark,
    /// Terminate a member; the group launches a replacement. A repeat succeeds while the member terminates, then
    /// returns [`NotFound`](crate::cloud::ErrorClass::NotFound).
    Terminate(InstanceId),
    /// Set the sizes if they are `from` directly before, else [`GroupError::Changed`]. Succeeds if they are `to`.
    Resize {
        /// The expected sizes.
        from: Sizes,
        to: Sizes,
    },
    /// Start an instance refresh. A repeat returns [`GroupError::RefreshRunning`], as does a refresh of another
    /// actor; [`Group::refresh`](super::Group::refresh) and the stored plan distinguish them.
    StartRefresh {
        /// The minimum healthy percentage, 0 to 100.
        min_healthy: u8,
    },
    /// Cancel a running refresh, if any. Replaced members stay.
    CancelRefresh,
}

impl GroupChange {
    /// The verb in audit lines and metrics.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Mark(_) => "mark-group",
            Self::Unmark => "unmark-group",
            Self::Terminate(_) => "terminate-member",
            Self::Resize { .. } => "resize-group",
            Self::StartRefresh { .. } => "start-refresh",
            Self::CancelRefresh => "cancel-refresh",
        }
    }
}

impl fmt::Display for GroupChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(_) => f.write_str("mark the group"),
            Self::Unmark => f.write_str("unmark the group"),
            Self::Terminate(instance) => write!(f, "terminate {instance}"),
            Self::Resize { from, to } => write!(f, "resize the group from {from} to {to}"),
            Self::StartRefresh { min_healthy } => {
                write!(f, "start an instance refresh, {min_healthy}% healthy")
            }
            Self::CancelRefresh => f.write_str("cancel the instance refresh"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    Cloud(CloudError),
    /// The sizes differ from those that the change started from. Nothing was done.
    Changed {
        found: Sizes,
    },
    /// An instance refresh is already running. Nothing was done.
    RefreshRunning,
}

impl std::error::Error for GroupError {}

impl From<CloudError> for GroupError {
    fn from(error: CloudError) -> Self {
        Self::Cloud(error)
    }
}

impl Classified for GroupError {
    fn category(&self) -> Category {
        match self {
            Self::Cloud(error) => error.category(),
            Self::Changed { .. } | Self::RefreshRunning => Category::Conflict,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Cloud(error) => error.retry(),
            Self::Changed { .. } | Self::RefreshRunning => Retry::Backoff,
        }
    }
}

//! Errors of changes to a group.

use machinist_domain::retry::{Category, Classified, Retry};

use super::group::Sizes;
use crate::cloud::CloudError;

/// Why a group was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    /// An error of the cloud.
    Cloud(CloudError),
    /// The sizes differ from those that the change started from. Nothing was done.
    Changed {
        /// The current sizes.
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

//! Why a group was not changed, where more can be said than that the cloud refused.

use machinist_domain::retry::{Category, Classified, Retry};

use super::group::Sizes;
use crate::cloud::CloudError;

/// Why a group was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The cloud did not do it.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    /// The group has other sizes than those that the change started from: somebody else has set them. Nothing was done.
    #[error("somebody else has changed the sizes of the group: {found}")]
    Changed {
        /// What it has now.
        found: Sizes,
    },
    /// A refresh of the group is running already. Nothing was done.
    #[error("an instance refresh of the group is running already")]
    RefreshRunning,
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

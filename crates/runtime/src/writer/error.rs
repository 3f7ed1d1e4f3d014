//! Why a write did not happen, or may have.

use machinist_domain::retry::{Category, Classified, Retry};

use crate::cluster::ApiError;

/// Why a write has no good answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The lease is somebody else's, or ran out: nothing was sent.
    #[error("not written: {controller} does not hold its lease")]
    NotLeader {
        /// Whose lease.
        controller: &'static str,
    },
    /// The API server said no, or nobody knows what it did.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl WriteError {
    /// Whether what was to be created is there already.
    pub fn already_exists(&self) -> bool {
        matches!(self, Self::Api(ApiError::Refused { code: 409, reason, .. }) if reason == "AlreadyExists")
    }

    /// Whether only a live read can tell what the object is like now: the write may have happened, or the object is not what we thought.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::NotLeader { .. } => false,
            Self::Api(error) => {
                error.may_have_happened()
                    || matches!(error.category(), Category::Conflict | Category::NotFound)
            }
        }
    }
}

impl Classified for WriteError {
    fn category(&self) -> Category {
        match self {
            Self::NotLeader { .. } => Category::NotLeader,
            Self::Api(error) => error.category(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NotLeader { .. } => Retry::Backoff,
            Self::Api(error) => error.retry(),
        }
    }
}

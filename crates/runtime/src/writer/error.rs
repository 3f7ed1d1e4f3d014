//! Why a write did not happen, or may have.

use machinist_domain::retry::{Category, Classified, Retry};

use crate::cluster::ApiError;
use crate::cluster::status::DISRUPTION_BUDGET;

/// How the API server says that the uid of a precondition is another object's: before it has read the object, and after.
const UID_DIFFERS: [&str; 2] = ["UID in the precondition", "UID in precondition"];

/// Why a write has no good answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The lease is somebody else's, or ran out: nothing was sent.
    #[error("not written: {controller} does not hold its lease")]
    NotLeader {
        /// Whose lease.
        controller: &'static str,
    },
    /// There is no target cluster: nothing was sent.
    #[error("not written: {controller} has no target cluster")]
    NoTarget {
        /// Who wanted to write there.
        controller: &'static str,
    },
    /// Another object has the name now: nothing has happened to it.
    #[error("the object is gone, and another one has its name: {message}")]
    Replaced {
        /// What the API server said.
        message: String,
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

    /// Whether the object that was to be written is gone.
    pub fn not_found(&self) -> bool {
        self.category() == Category::NotFound
    }

    /// Whether somebody else has changed the object since it was looked at.
    pub fn conflict(&self) -> bool {
        self.category() == Category::Conflict && !self.already_exists()
    }

    /// If a PodDisruptionBudget refuses an eviction: what it says, its name included.
    pub fn disruption_budget(&self) -> Option<&str> {
        match self {
            Self::Api(ApiError::Refused { reason, message, .. }) => {
                (reason == DISRUPTION_BUDGET).then_some(message)
            }
            _ => None,
        }
    }

    /// Whether it is part of everyday life: somebody was faster, most likely ourselves, or a budget says "not yet".
    pub(super) fn is_ordinary(&self) -> bool {
        self.category() == Category::Conflict || self.disruption_budget().is_some()
    }

    /// Whether only a live read can tell what the object is like now: the write may have happened, or the object is not what we thought.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::NotLeader { .. } | Self::NoTarget { .. } => false,
            Self::Replaced { .. } => true,
            Self::Api(error) => {
                error.may_have_happened()
                    || matches!(error.category(), Category::Conflict | Category::NotFound)
            }
        }
    }

    /// The same error, but [`Replaced`](Self::Replaced) where it says that the uid is another object's. The API server says so in words only:
    /// a conflict where the uid is a precondition, an invalid field where it stands in a patch.
    pub(super) fn or_replaced(self) -> Self {
        match self {
            Self::Api(ApiError::Refused { code, message, .. })
                if (code == 409 && UID_DIFFERS.iter().any(|words| message.contains(words)))
                    || (code == 422 && message.contains("metadata.uid")) =>
            {
                Self::Replaced { message }
            }
            other => other,
        }
    }
}

impl Classified for WriteError {
    fn category(&self) -> Category {
        match self {
            Self::NotLeader { .. } => Category::NotLeader,
            Self::NoTarget { .. } => Category::InvalidConfiguration,
            Self::Replaced { .. } => Category::NotFound,
            Self::Api(error) => error.category(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NotLeader { .. } => Retry::Backoff,
            Self::NoTarget { .. } => Retry::OnChange,
            Self::Replaced { .. } => Retry::Soon,
            Self::Api(error) => error.retry(),
        }
    }
}

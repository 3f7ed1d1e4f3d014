use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::safety::Refusal;

use crate::cluster::ApiError;
use crate::cluster::status::DISRUPTION_BUDGET;
use crate::messages;

/// The API server's texts for a mismatched uid precondition. There is no reason code.
const UID_DIFFERS: [&str; 2] = ["UID in the precondition", "UID in precondition"];

#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// This process does not hold the lease; nothing was sent.
    #[error("{}", messages::not_written(.0))]
    NotLeader(&'static str),
    /// A freeze stops it; nothing was sent.
    #[error(transparent)]
    Frozen(#[from] Refusal),
    /// There is no target cluster; nothing was sent.
    #[error("{}", messages::no_target(.0))]
    NoTarget(&'static str),
    /// Another object has the name now; it is unchanged.
    #[error("{}", messages::recreated(.0))]
    Replaced(String),
    /// The API server rejected it, or its answer was lost.
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl WriteError {
    pub fn already_exists(&self) -> bool {
        matches!(self, Self::Api(ApiError::Refused { code: 409, reason, .. }) if reason == "AlreadyExists")
    }

    /// Whether a right is missing. A terminating namespace has a reason of its own.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Api(ApiError::Refused { code: 403, reason, .. }) if reason == "Forbidden")
    }

    pub fn not_found(&self) -> bool {
        self.category() == Category::NotFound
    }

    pub fn conflict(&self) -> bool {
        self.category() == Category::Conflict && !self.already_exists()
    }

    /// The message of the PodDisruptionBudget that refuses an eviction.
    pub fn disruption_budget(&self) -> Option<&str> {
        match self {
            Self::Api(ApiError::Refused { reason, message, .. }) => {
                (reason == DISRUPTION_BUDGET).then_some(message)
            }
            _ => None,
        }
    }

    /// Whether a freeze stops it.
    pub fn is_frozen(&self) -> bool {
        matches!(self, Self::Frozen(_))
    }

    /// Whether it is part of normal operation: a conflict, a freeze, or a PodDisruptionBudget.
    pub(super) fn is_ordinary(&self) -> bool {
        matches!(self.category(), Category::Conflict | Category::Frozen)
            || self.disruption_budget().is_some()
    }

    /// Whether it was sent and may have been executed, or may be executed later.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Api(error) if error.may_have_happened())
    }

    /// Whether only a live read can tell the state of the object.
    pub fn leaves_uncertain(&self) -> bool {
        match self {
            Self::NotLeader(_) | Self::Frozen(_) | Self::NoTarget(_) => false,
            Self::Replaced(_) => true,
            Self::Api(error) => {
                error.may_have_happened()
                    || matches!(error.category(), Category::Conflict | Category::NotFound)
            }
        }
    }

    /// The API server reports a mismatched uid as a conflict (precondition) or as an invalid field (patch).
    pub(super) fn or_replaced(self) -> Self {
        match self {
            Self::Api(ApiError::Refused { code, message, .. })
                if (code == 409 && UID_DIFFERS.iter().any(|words| message.contains(words)))
                    || (code == 422 && message.contains("metadata.uid")) =>
            {
                Self::Replaced(message)
            }
            other => other,
        }
    }
}

impl Classified for WriteError {
    fn category(&self) -> Category {
        match self {
            Self::NotLeader(_) => Category::NotLeader,
            Self::Frozen(refusal) => refusal.category(),
            Self::NoTarget(_) => Category::InvalidConfiguration,
            Self::Replaced(_) => Category::NotFound,
            Self::Api(error) => error.category(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NotLeader(_) => Retry::Backoff,
            Self::Frozen(refusal) => refusal.retry(),
            Self::NoTarget(_) => Retry::OnChange,
            Self::Replaced(_) => Retry::Soon,
            Self::Api(error) => error.retry(),
        }
    }
}

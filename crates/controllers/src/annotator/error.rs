//! Why there is nothing true to write about a MachineSet.

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Failure, Retry};
use machinist_provider::spec::SpecError;

/// Why there is nothing true to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody knows the instance type.
    #[error("instance type {instance_type:?} is unknown, annotations are left as they are")]
    UnknownType {
        /// The type that the spec names.
        instance_type: String,
    },
    /// The provider spec is no use.
    #[error(transparent)]
    BadSpec(#[from] SpecError),
    /// The object cannot be decoded at all.
    #[error("object cannot be decoded: {reason}")]
    Undecodable {
        /// What is wrong with it.
        reason: String,
    },
    /// The Secret that the spec names is not there.
    #[error("secret {0} does not exist")]
    NoSecret(ObjectKey),
    /// Whom to ask, and as whom, could not be found out, and nobody else knows.
    #[error("the cloud could not be asked: {}", .0.message)]
    NotFoundOut(Failure),
    /// The cloud could not be asked, and nobody else knows.
    #[error("the cloud could not be asked: {}", .0.message)]
    CouldNotAsk(Failure),
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        match self {
            Self::UnknownType { .. } => Category::NotFound,
            Self::BadSpec(_) | Self::Undecodable { .. } | Self::NoSecret(_) => {
                Category::InvalidConfiguration
            }
            Self::NotFoundOut(failure) | Self::CouldNotAsk(failure) => failure.category,
        }
    }

    /// Nearly all of these wait for a change: of the object, of its Secret, or of what the cloud answers. Whoever asks the cloud asks again by
    /// itself.
    fn retry(&self) -> Retry {
        match self {
            Self::NotFoundOut(failure) => failure.retry,
            _ => Retry::OnChange,
        }
    }
}

//! Why there is nothing true to write about a MachineSet. All of these wait for an edit.

use machinist_domain::retry::{Category, Classified, Retry};
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
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        match self {
            Self::UnknownType { .. } => Category::NotFound,
            Self::BadSpec(_) | Self::Undecodable { .. } => Category::InvalidConfiguration,
        }
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

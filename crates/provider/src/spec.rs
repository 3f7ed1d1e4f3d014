//! The pure half of a provider: reading provider specs.

use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::shape::Shape;
use serde_json::value::RawValue;

/// Reads provider specs.
pub trait SpecHalf: Send + Sync {
    /// What the spec asks for.
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError>;
}

/// Why a provider spec is no use. Nothing will be better until somebody edits the object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The template has no provider spec.
    #[error("spec.template.spec.providerSpec.value is missing")]
    Missing,
    /// The spec is of a kind that this provider does not read.
    #[error("provider spec has kind {kind:?}, which no provider here reads")]
    ForeignKind {
        /// The kind that it has.
        kind: String,
    },
    /// The spec cannot be read.
    #[error("provider spec is not valid: {reason}")]
    Invalid {
        /// What is wrong, with the place where it is known.
        reason: String,
    },
}

impl Classified for SpecError {
    fn category(&self) -> Category {
        Category::InvalidConfiguration
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

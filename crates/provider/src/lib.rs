//! The contract between controllers and a cloud, in domain terms.
//!
//! A provider has two halves. The spec half is pure and lives behind [`SpecHalf`]: it reads the raw provider spec of a machine and says
//! what it asks for. What a machine of some type gives is answered by a [`CapacitySource`]. The half that talks to the cloud
//! comes with the controllers that create machines.
//!
//! No type of any cloud's SDK crosses this line.

use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::shape::{Capacity, Shape};
use serde_json::value::RawValue;

/// The pure half of a provider: reads provider specs.
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

/// What is known about an instance type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacityAnswer {
    /// It exists and gives this.
    Known(Capacity),
    /// Whoever was asked knows all types, and this is none.
    Unknown,
}

/// Says what a machine of some shape gives.
pub trait CapacitySource: Send + Sync {
    /// Looks the type up.
    fn capacity(&self, shape: &Shape) -> CapacityAnswer;
}

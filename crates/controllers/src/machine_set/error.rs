//! Why a MachineSet is not acted upon.

use machinist_domain::ordinals::WindowError;
use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::selector::SelectorError;

use crate::kinds::UnknownDeletePolicy;

/// What is wrong with a MachineSet. Nothing is done until somebody edits it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The object cannot be decoded at all.
    #[error("object cannot be decoded: {0}")]
    Undecodable(String),
    /// The selector is no use.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// Its machines would not be its machines.
    #[error("spec.selector {selector} does not match the labels in spec.template.metadata.labels")]
    NotItsTemplate {
        /// The selector.
        selector: String,
    },
    /// Fewer than none are wanted.
    #[error("spec.replicas is {0}, which is less than none")]
    Replicas(i32),
    /// Nobody knows which machines are to go first.
    #[error(transparent)]
    DeletePolicy(#[from] UnknownDeletePolicy),
    /// Which ordinals are in use is not known, so nothing can be counted.
    #[error("annotation machinist.dev/ordinals: {0}")]
    Window(#[from] WindowError),
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::InvalidConfiguration
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

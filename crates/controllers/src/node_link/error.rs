//! Why a Node cannot be linked.

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Retry};

use super::messages;

/// Why a Node cannot be linked until one of the objects changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Several Machines match the Node.
    #[error("{}", messages::disputed(.0))]
    Disputed(Vec<ObjectKey>),
    /// The Machine has another Node with the same instance.
    #[error("{}", messages::double(.machine, .others))]
    Double {
        /// The Machine.
        machine: ObjectKey,
        /// The other Nodes.
        others: Vec<ObjectKey>,
    },
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::Conflict
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

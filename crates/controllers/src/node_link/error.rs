//! Why a Node cannot be linked.

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Retry};

/// Why a Node cannot be linked. It can as soon as somebody changes one of the objects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Several Machines claim the Node.
    #[error("several machines claim this node: {}", list(.0))]
    Disputed(Vec<ObjectKey>),
    /// The Machine has another Node of the same instance.
    #[error("machine {machine} has another node of the same instance: {}", list(.others))]
    Double {
        /// The Machine.
        machine: ObjectKey,
        /// The other Nodes.
        others: Vec<ObjectKey>,
    },
}

fn list(keys: &[ObjectKey]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::Conflict
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

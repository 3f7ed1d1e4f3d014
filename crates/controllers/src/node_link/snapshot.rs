//! What the nodelink controller observed of one Node.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;

use crate::kinds::{Machine, Node};

/// One Node and the Machine that it belongs to.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The Node.
    pub node: Arc<Node>,
    /// Whose Node it is.
    pub owner: Owner,
}

/// Whose Node it is.
#[derive(Debug, Clone)]
pub enum Owner {
    /// Nobody's that we know.
    Nobody,
    /// This Machine's.
    Machine(Arc<Machine>),
    /// Several Machines claim it: an instance belongs to one Machine, so something is wrong.
    Disputed(Vec<ObjectKey>),
    /// The Machine that it would belong to has another Node of the same instance.
    Double {
        /// The Machine.
        machine: ObjectKey,
        /// The other Nodes.
        others: Vec<ObjectKey>,
    },
}

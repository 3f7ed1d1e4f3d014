//! The observed state of one Node.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;

use crate::kinds::{Machine, Node};

/// One Node and its Machine.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The Node.
    pub node: Arc<Node>,
    /// Its Machine.
    pub owner: Owner,
}

/// The Machine of a Node.
#[derive(Debug, Clone)]
pub enum Owner {
    /// No Machine matches.
    None,
    /// One Machine matches.
    Machine(Arc<Machine>),
    /// Several Machines match, but an instance belongs to one.
    Disputed(Vec<ObjectKey>),
    /// The Machine has another Node with the same instance.
    Double {
        /// The Machine.
        machine: ObjectKey,
        /// The other Nodes.
        others: Vec<ObjectKey>,
    },
}

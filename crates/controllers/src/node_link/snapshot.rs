//! The observed state of one Node.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;

use crate::kinds::{Machine, Node};

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub node: Arc<Node>,
    pub owner: Owner,
}

#[derive(Debug, Clone)]
pub enum Owner {
    None,
    Machine(Arc<Machine>),
    /// Several Machines match, but an instance belongs to one.
    Disputed(Vec<ObjectKey>),
    /// The Machine has other Nodes with the same instance.
    Double {
        machine: ObjectKey,
        others: Vec<ObjectKey>,
    },
}

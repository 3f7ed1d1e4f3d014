use std::sync::Arc;

use super::error::Refusal;
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
    /// An instance belongs to one Machine and one Node, and here are several.
    Ambiguous(Refusal),
}

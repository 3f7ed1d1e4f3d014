use std::fmt;

use machinist_domain::retry::Failure;
use serde_json::Value;

use super::error::Refusal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    NoOp(Reason),
    Refuse(Refusal),
    /// Write the link to Machine and Node. Neither write depends on the other's result.
    Link(Link),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    NodeDeleting,
    NoMachine,
    /// The Machine is being deleted, and its Node with it.
    MachineDeleting,
    Linked,
}

/// The writes that link Machine and Node, as merge patches of what differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Of the Machine's status.
    pub machine: Option<Value>,
    pub node: Option<Value>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOp(Reason::NodeDeleting) => f.write_str("no-op: the node is being deleted"),
            Self::NoOp(Reason::NoMachine) => f.write_str("no-op: no Machine has this instance"),
            Self::NoOp(Reason::MachineDeleting) => {
                f.write_str("no-op: its Machine is being deleted")
            }
            Self::NoOp(Reason::Linked) => f.write_str("no-op: Machine and Node are linked"),
            Self::Refuse(refusal) => write!(f, "blocked: {refusal}"),
            Self::Link(link) => {
                f.write_str("link:")?;
                if let Some(patch) = &link.machine {
                    write!(f, " machine status {patch}")?;
                }
                if let Some(patch) = &link.node {
                    write!(f, " node {patch}")?;
                }
                Ok(())
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to write, or an object is gone.
    Done,
    Linked,
    Failed(Failure),
}

//! What the nodelink controller is going to do, and what came of it, as data.

use std::fmt;

use machinist_domain::retry::Failure;
use serde_json::Value;

use super::error::Refusal;

/// What to do about one Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Leave(Why),
    /// Nothing can be done.
    Refuse(Refusal),
    /// Make Machine and Node know of each other. Neither write depends on the other's result.
    Link(Link),
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The Node is being deleted.
    NodeDeleting,
    /// No Machine has this instance.
    NoMachine,
    /// The Machine is being deleted: its Node goes with it.
    MachineDeleting,
    /// They know of each other already.
    Linked,
}

/// The writes that make Machine and Node know of each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// A merge patch of the Machine's status; `None`: it is right.
    pub machine: Option<Value>,
    /// A merge patch of the Node; `None`: it is right.
    pub node: Option<Value>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leave(Why::NodeDeleting) => f.write_str("leave it: the node is being deleted"),
            Self::Leave(Why::NoMachine) => f.write_str("leave it: no machine has this instance"),
            Self::Leave(Why::MachineDeleting) => {
                f.write_str("leave it: its machine is being deleted")
            }
            Self::Leave(Why::Linked) => f.write_str("leave it: machine and node are linked"),
            Self::Refuse(refusal) => write!(f, "leave it: {refusal}"),
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

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to do, or the object went away meanwhile.
    Left,
    /// Nothing can be done.
    Refused(Refusal),
    /// Machine and Node know of each other.
    Linked,
    /// Writing did not work.
    Failed(Failure),
}

use std::fmt;

use machinist_domain::capacity_annotations::Assessment;
use machinist_domain::retry::{Failure, Retry};

use super::error::Refusal;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    NoOp(Reason),
    /// Write what differs, which may be nothing.
    Annotate(Annotation),
    Refuse(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Deleting,
    ManagedElsewhere,
    /// A MachineDeployment owns it, and is annotated instead.
    OfDeployment,
    /// A request to the cloud is in progress; its answer requeues the object.
    CapacityPending,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    pub assessment: Assessment,
    /// Why the values are the catalogue's; `None` where they are the cloud's or no cloud is used.
    pub fallback: Option<Failure>,
    /// When to requeue, where no event does.
    pub retry: Option<Retry>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOp(Reason::Deleting) => f.write_str("no-op: being deleted"),
            Self::NoOp(Reason::ManagedElsewhere) => {
                f.write_str("no-op: managed by another machine API")
            }
            Self::NoOp(Reason::OfDeployment) => {
                f.write_str("no-op: its MachineDeployment is annotated instead")
            }
            Self::NoOp(Reason::CapacityPending) => f.write_str("no-op: waiting for the cloud"),
            Self::Refuse(refusal) => write!(f, "no-op: {refusal}"),
            Self::Annotate(Annotation { assessment, .. }) if assessment.change.is_empty() => {
                f.write_str("no-op: annotations are up to date")
            }
            Self::Annotate(Annotation { assessment, .. }) => {
                f.write_str("annotate:")?;
                for (key, value) in assessment.change.iter() {
                    match value {
                        Some(value) => write!(f, " {key}={value:?}")?,
                        None => write!(f, " {key}-")?,
                    }
                }
                Ok(())
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Unchanged,
    Written,
    /// The object was deleted in the meantime.
    Gone,
    Failed(Failure),
}

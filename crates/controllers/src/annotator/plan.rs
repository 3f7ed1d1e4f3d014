//! What the annotator is going to do, and what came of it, as data.

use std::fmt;

use machinist_domain::annotations::AnnotationChange;
use machinist_domain::retry::Failure;

use super::error::Refusal;

/// What to do about one MachineSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it says the truth already.
    Settled,
    /// Nothing: it is being deleted.
    Deleting,
    /// Set or remove these annotations.
    Annotate(AnnotationChange),
    /// There is nothing true to write.
    Refuse(Refusal),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled => f.write_str("leave it: annotations are right"),
            Self::Deleting => f.write_str("leave it: it is being deleted"),
            Self::Refuse(refusal) => write!(f, "leave it: {refusal}"),
            Self::Annotate(change) => {
                f.write_str("annotate:")?;
                for (key, value) in change.iter() {
                    match value {
                        Some(value) => write!(f, " {key}={value:?}")?,
                        None => write!(f, " -{key}")?,
                    }
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
    Settled,
    /// The annotations are written (or would be, in a dry run).
    Annotated,
    /// There was nothing true to write.
    Refused(Refusal),
    /// Writing did not work.
    Failed(Failure),
}

//! What the annotator is going to do, and what came of it, as data.

use std::fmt;

use machinist_domain::capacity_annotations::Assessment;
use machinist_domain::retry::{Failure, Retry};

use super::error::Refusal;

/// What to do about one MachineSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it is being deleted.
    Deleting,
    /// Nothing: another machine API is in charge of it.
    Elsewhere,
    /// Nothing yet: the cloud is being asked.
    Wait,
    /// Make it say the truth, which may need no write.
    Tell(Truth),
    /// There is nothing true to write.
    Refuse(Refusal),
}

/// What a MachineSet should say, and how we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// What to write, and what somebody should hear about.
    pub assessment: Assessment,
    /// Why the built-in catalogue had to answer; `None` where it did not have to.
    pub fallback: Option<Failure>,
    /// When to look again, where nobody else will bring us back.
    pub retry: Option<Retry>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleting => f.write_str("leave it: it is being deleted"),
            Self::Elsewhere => f.write_str("leave it: another machine API is in charge of it"),
            Self::Wait => f.write_str("leave it: the cloud is being asked"),
            Self::Refuse(refusal) => write!(f, "leave it: {refusal}"),
            Self::Tell(truth) if truth.assessment.change.is_empty() => {
                f.write_str("leave it: annotations are right")
            }
            Self::Tell(truth) => {
                f.write_str("annotate:")?;
                for (key, value) in truth.assessment.change.iter() {
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

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to do, or the object went away meanwhile.
    Left,
    /// The cloud is being asked; its answer will bring us back.
    Waiting,
    /// It says the truth.
    Told {
        /// What it says, and how we know.
        truth: Truth,
        /// Whether that took a write.
        wrote: bool,
    },
    /// There was nothing true to write.
    Refused(Refusal),
    /// Writing did not work.
    Failed(Failure),
}

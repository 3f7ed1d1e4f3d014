//! What can be wrong with an EventRecycler. The schema refuses most of it, but not for objects that are older than the schema.

use machinist_domain::retry::{Category, Classified, Retry};

/// Why nothing is counted for an EventRecycler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has no spec, or one that says nothing.
    #[error("neither searchTerms nor match say which events are meant")]
    NothingToLookFor,
    /// Every event there is would count.
    #[error(
        "an empty search term is in every message; to count all events of a type, say match.type"
    )]
    EmptyTerm,
    /// A duration that is none.
    #[error("{field} is not a duration such as 90s or 1h30m: {text:?}")]
    Duration {
        /// Which field.
        field: &'static str,
        /// What it says.
        text: String,
    },
    /// A number that is too small.
    #[error("{field} must be at least 1, not {number}")]
    Number {
        /// Which field.
        field: &'static str,
        /// What it says.
        number: i32,
    },
    /// A threshold that is never reached: no more different ones are counted.
    #[error(
        "threshold {threshold} is never reached: of pods or nodes of a group at most {most} are counted"
    )]
    Unreachable {
        /// What it says.
        threshold: u32,
        /// How many are counted.
        most: usize,
    },
    /// A regular expression that is none.
    #[error("match.message: {0:?} is not a regular expression")]
    Pattern(String),
    /// A time of day or a time zone that is none.
    #[error(
        "schedule: {0:?} is neither a time of day such as 07:30 nor UTC nor an offset such as +02:00"
    )]
    Schedule(String),
    /// It cannot be read at all.
    #[error("it cannot be read: {0}")]
    Undecodable(String),
}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::InvalidConfiguration
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

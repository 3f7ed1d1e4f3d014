//! Why the spec of an EventRecycler is invalid. The schema rejects most of this, but not for objects that are older
//! than the schema.

use machinist_domain::retry::{Category, Classified, Retry};

/// Why the spec of an EventRecycler is invalid. The texts are in `messages`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Neither `searchTerms` nor `match` select any event.
    NothingToLookFor,
    /// An empty search term would match every message.
    EmptyTerm,
    /// A duration cannot be parsed.
    Duration {
        /// Which field.
        field: &'static str,
        /// Its value.
        text: String,
    },
    /// A number is too small.
    Number {
        /// Which field.
        field: &'static str,
        /// Its value.
        number: i32,
    },
    /// The threshold exceeds what is counted.
    Unreachable {
        /// Its value.
        threshold: u32,
        /// The highest count.
        most: usize,
    },
    /// An entry of `match.message` is invalid.
    Pattern(String),
    /// A time of day or a time zone is invalid.
    Schedule(String),
    /// The object cannot be decoded.
    Undecodable(String),
}

impl std::error::Error for Refusal {}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::InvalidConfiguration
    }

    fn retry(&self) -> Retry {
        Retry::OnChange
    }
}

//! Why the spec of an EventRecycler is invalid. The schema rejects most of this, except for objects that are older.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NothingToLookFor,
    EmptyTerm,
    Duration { field: &'static str, text: String },
    Number { field: &'static str, number: i32 },
    Unreachable { threshold: u32, most: u64 },
    Pattern(String),
    Schedule(String),
    Undecodable(String),
}

impl std::error::Error for Refusal {}

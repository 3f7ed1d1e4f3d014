//! How an error is to be retried, and what it is called in metrics, Events and logs.
//!
//! Every typed error of machinist answers these two questions, so that no caller has to guess from a message.

use std::time::Duration;

/// When to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The object is bad: nothing will be better until somebody edits it (or the resync comes round).
    OnChange,
    /// Somebody said when: the API server with `Retry-After`, or the object's own schedule.
    After(Duration),
    /// Exponentially, with jitter, per object.
    Backoff,
    /// Somebody else was faster: as [`Backoff`](Self::Backoff), but beginning ten times sooner, since a second look mostly mends it.
    Soon,
    /// Nothing failed: what is waited for tells nobody when it comes, so it is looked at again then.
    Again(Duration),
}

/// What went wrong, in one word that is stable enough for an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The object, or what it refers to, is not valid.
    InvalidConfiguration,
    /// What was asked for does not exist, and whoever was asked knows that.
    NotFound,
    /// Somebody else changed the object first.
    Conflict,
    /// The cloud has no room, or a quota is used up.
    CapacityExhausted,
    /// Too many requests.
    Throttled,
    /// Not allowed.
    Unauthorised,
    /// The lease is not ours (any more).
    NotLeader,
    /// Nobody answered, or the answer was lost: what was asked for may have happened.
    Unavailable,
    /// An answer that we do not understand, or a webhook between us and the API server that fails: nothing mends itself.
    Unexpected,
}

impl Category {
    /// Every category, for docs and tests.
    pub const ALL: [Self; 9] = [
        Self::InvalidConfiguration,
        Self::NotFound,
        Self::Conflict,
        Self::CapacityExhausted,
        Self::Throttled,
        Self::Unauthorised,
        Self::NotLeader,
        Self::Unavailable,
        Self::Unexpected,
    ];

    /// Whether it lasts until people mend something: a right, a webhook, what the API server takes for valid. The others are how the protocol works,
    /// or end by themselves.
    pub fn is_for_people(self) -> bool {
        match self {
            Self::InvalidConfiguration | Self::Unauthorised | Self::Unexpected => true,
            Self::NotFound
            | Self::Conflict
            | Self::CapacityExhausted
            | Self::Throttled
            | Self::NotLeader
            | Self::Unavailable => false,
        }
    }

    /// The name in metrics, Events and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidConfiguration => "InvalidConfiguration",
            Self::NotFound => "NotFound",
            Self::Conflict => "Conflict",
            Self::CapacityExhausted => "CapacityExhausted",
            Self::Throttled => "Throttled",
            Self::Unauthorised => "Unauthorised",
            Self::NotLeader => "NotLeader",
            Self::Unavailable => "Unavailable",
            Self::Unexpected => "Unexpected",
        }
    }
}

/// A typed error that says its category and how to retry.
pub trait Classified: std::error::Error {
    /// What went wrong.
    fn category(&self) -> Category;
    /// When to try again.
    fn retry(&self) -> Retry;

    /// The same error as plain data, which a pure stage can look at.
    fn failure(&self) -> Failure {
        Failure { category: self.category(), retry: self.retry(), message: self.to_string() }
    }
}

/// An error as plain data: what is left of it when it crosses into a pure stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub category: Category,
    /// When to try again.
    pub retry: Retry,
    /// For people.
    pub message: String,
}

//! Category and retry class of errors. Every typed error has both, so that no caller decides by a message.

use std::time::Duration;

/// When to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The object is invalid: wait for a change or the resync.
    OnChange,
    /// After a known delay: `Retry-After` of the API server or a cloud, or the object's schedule.
    After(Duration),
    /// With exponential backoff and jitter per object.
    Backoff,
    /// After a conflict or an outdated plan: as [`Backoff`](Self::Backoff), starting at a tenth of the delay.
    Soon,
    /// No failure: poll again after a delay, because no watch reports the change.
    Again(Duration),
}

machinist_api::named_enum! {
    /// The category of an error, stable enough for alerts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Category {
        InvalidConfiguration,
        NotFound,
        Conflict,
        /// The cloud has no capacity, or a quota is exhausted.
        CapacityExhausted,
        Throttled,
        Unauthorised,
        NotLeader,
        /// A freeze stops the change ([`crate::safety`]); nothing was sent.
        Frozen,
        /// No answer: the request may have been executed.
        Unavailable,
        /// An answer that cannot be decoded, or a failing admission webhook.
        Unexpected,
    }
}

impl Category {
    /// Whether a person has to fix something. All others are part of the protocol or resolve themselves.
    pub fn needs_attention(self) -> bool {
        matches!(self, Self::InvalidConfiguration | Self::Unauthorised | Self::Unexpected)
    }
}

/// A typed error with category and retry class.
pub trait Classified: std::error::Error {
    /// What went wrong.
    fn category(&self) -> Category;
    /// When to try again.
    fn retry(&self) -> Retry;

    /// The same error as plain data for pure stages.
    fn failure(&self) -> Failure {
        Failure { category: self.category(), retry: self.retry(), message: self.to_string() }
    }
}

/// An error as plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub category: Category,
    /// When to try again.
    pub retry: Retry,
    /// The message.
    pub message: String,
}

impl Retry {
    /// The same, or with backoff where no change would be reported.
    #[must_use]
    pub fn or_backoff(self) -> Self {
        if self == Self::OnChange { Self::Backoff } else { self }
    }
}

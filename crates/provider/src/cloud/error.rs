//! Why a cloud did not do what it was asked, and what that means for the next attempt.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Retry};

/// A cloud that asks for more than this does not mean it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Why a cloud did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CloudError {
    /// What kind of failure.
    pub class: ErrorClass,
    /// Whether the request may have had an effect all the same.
    pub effect: Effect,
    /// The cloud's own words, which people will look for.
    pub message: String,
    /// Who else is concerned: they wait together.
    pub domain: Option<FailureDomain>,
    /// When to come back, as the cloud said it. What to do about it is [`pause`](Self::pause).
    pub retry_after: Option<Duration>,
}

impl CloudError {
    /// An error of which nothing more is known than that it is of this class. Whether anything happened is unclear unless the class says.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let effect = match class {
            ErrorClass::Unavailable | ErrorClass::Unknown => Effect::Unclear,
            ErrorClass::InvalidConfiguration
            | ErrorClass::NotFound
            | ErrorClass::CapacityExhausted
            | ErrorClass::Throttled
            | ErrorClass::Unauthorised => Effect::None,
        };
        Self { class, effect, message: message.into(), domain: None, retry_after: None }
    }

    /// The same error, shared by everything in a failure domain.
    #[must_use]
    pub fn within(mut self, domain: impl Into<Arc<str>>) -> Self {
        self.domain = Some(FailureDomain(domain.into()));
        self
    }

    /// When to come back, if the cloud says so: an hour at most, whatever it says.
    pub fn pause(&self) -> Option<Duration> {
        self.retry_after.map(|after| after.min(LONGEST_RETRY_AFTER))
    }
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The spec asks for something that cannot be; only an edit helps.
    InvalidConfiguration,
    /// Something that was named does not exist.
    NotFound,
    /// The cloud has no room, or a quota is used up; later, or elsewhere, it may.
    CapacityExhausted,
    /// Too many requests.
    Throttled,
    /// Not allowed, or not as these credentials.
    Unauthorised,
    /// Nobody answered, or the cloud is in trouble.
    Unavailable,
    /// An answer that nobody understands.
    Unknown,
}

impl ErrorClass {
    /// Every class, for tests and docs.
    pub const ALL: [Self; 7] = [
        Self::InvalidConfiguration,
        Self::NotFound,
        Self::CapacityExhausted,
        Self::Throttled,
        Self::Unauthorised,
        Self::Unavailable,
        Self::Unknown,
    ];
}

/// Whether a request that failed may have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It had none; the same attempt may be tried again.
    None,
    /// It had none, and this attempt never will: after a look-up, another attempt with newly prepared values may.
    NoneForThisAttempt,
    /// Nobody knows: only the same attempt may be tried again.
    Unclear,
}

/// Machines that fail together: those of one zone and type when there is no room, those of one account and region when it throttles.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FailureDomain(pub Arc<str>);

impl Classified for CloudError {
    fn category(&self) -> Category {
        match self.class {
            ErrorClass::InvalidConfiguration => Category::InvalidConfiguration,
            ErrorClass::NotFound => Category::NotFound,
            ErrorClass::CapacityExhausted => Category::CapacityExhausted,
            ErrorClass::Throttled => Category::Throttled,
            ErrorClass::Unauthorised => Category::Unauthorised,
            ErrorClass::Unavailable => Category::Unavailable,
            ErrorClass::Unknown => Category::Unexpected,
        }
    }

    fn retry(&self) -> Retry {
        match (self.class, self.pause()) {
            (ErrorClass::InvalidConfiguration, _) => Retry::OnChange,
            (_, Some(delay)) => Retry::After(delay),
            (_, None) => Retry::Backoff,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_is_believed_for_an_hour_at_most() {
        let error = |after| CloudError {
            retry_after: Some(after),
            ..CloudError::new(ErrorClass::Throttled, "too fast")
        };
        assert_eq!(error(Duration::MAX).retry(), Retry::After(LONGEST_RETRY_AFTER));
        let soon = Duration::from_secs(7);
        assert_eq!(error(soon).retry(), Retry::After(soon));
    }
}

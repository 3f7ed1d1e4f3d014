//! Errors of a cloud, classified for the retry.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::permit::Expired;
/// The class of an error: what the controllers report as its category.
pub use machinist_domain::retry::Category as ErrorClass;
use machinist_domain::retry::{Category, Classified, Retry};

use super::ProviderStatus;

/// The upper limit for a cloud's Retry-After.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CloudError {
    pub class: ErrorClass,
    pub effect: Effect,
    pub message: String,
    /// Machines in the same failure domain pause together.
    pub domain: Option<FailureDomain>,
    /// The cloud's Retry-After; use [`pause`](Self::pause).
    pub retry_after: Option<Duration>,
    /// The `status.providerStatus` that records the failure, if the provider records failures.
    pub status: Option<Box<ProviderStatus>>,
}

impl CloudError {
    /// An error of this class, with the effect that the class implies.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        use ErrorClass::{Conflict, NotLeader, Unavailable, Unexpected};
        let is_unclear = matches!(class, Conflict | NotLeader | Unavailable | Unexpected);
        let effect = if is_unclear { Effect::Unclear } else { Effect::None };
        let (domain, retry_after, status) = (None, None, None);
        Self { class, effect, message: message.into(), domain, retry_after, status }
    }

    #[must_use]
    pub fn within(mut self, domain: impl Into<Arc<str>>) -> Self {
        self.domain = Some(FailureDomain(domain.into()));
        self
    }

    /// The cloud's Retry-After, one hour at most.
    pub fn pause(&self) -> Option<Duration> {
        self.retry_after.map(|after| after.min(LONGEST_RETRY_AFTER))
    }
}

/// No request was sent.
impl From<Expired> for CloudError {
    fn from(expired: Expired) -> Self {
        let error = Self::new(ErrorClass::NotLeader, expired.to_string());
        Self { effect: Effect::None, ..error }
    }
}

/// Whether a failed request may have had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No effect; the same attempt can be retried.
    None,
    /// No effect, and this attempt can never succeed: describe first, then prepare another attempt.
    NoneForThisAttempt,
    /// Unknown; only the same attempt may be retried.
    Unclear,
}

/// What fails together: a zone and type without capacity, an account and region that is throttled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FailureDomain(pub Arc<str>);

impl Classified for CloudError {
    fn category(&self) -> Category {
        self.class
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
    fn retry_after_is_limited_to_an_hour() {
        let error = |after| CloudError {
            retry_after: Some(after),
            ..CloudError::new(ErrorClass::Throttled, "too fast")
        };
        assert_eq!(error(Duration::MAX).retry(), Retry::After(LONGEST_RETRY_AFTER));
        let soon = Duration::from_secs(7);
        assert_eq!(error(soon).retry(), Retry::After(soon));
    }
}

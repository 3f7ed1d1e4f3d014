//! Waits for the first list of a cache, and says why it does not come.
//!
//! That something may not be seen, or that nobody answers, does not mean that there is nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Retry};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cluster::ApiError;

/// Something that cannot be looked at.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what} cannot be looked at: {trouble}")]
pub struct Unreadable {
    what: String,
    trouble: Trouble,
}

/// What is in the way.
#[derive(Debug, Clone, thiserror::Error)]
enum Trouble {
    #[error("no answer")]
    NoAnswer,
    #[error(transparent)]
    Api(ApiError),
}

impl Unreadable {
    /// Whether the API server said that we may not.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(&self.trouble, Trouble::Api(error) if error.code() == Some(403))
    }
}

impl Classified for Unreadable {
    fn category(&self) -> Category {
        if self.is_forbidden() { Category::Unauthorised } else { Category::Unavailable }
    }

    /// No change tells that a right was granted.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

/// Returns when the first list is there, or with what is in the way. `what` says what was to be looked at.
pub(crate) async fn wait<K: Kind>(
    cache: &Cache<K>,
    what: impl Fn() -> String,
    patience: Duration,
) -> Result<(), Unreadable> {
    let synced = tokio::time::timeout(patience, cache.wait_synced_or_trouble()).await;
    let trouble = match synced {
        Ok(None) => return Ok(()),
        Ok(Some(error)) => Trouble::Api(error),
        Err(_) => Trouble::NoAnswer,
    };
    Err(Unreadable { what: what(), trouble })
}

/// Waits for a list that everybody needs. Where no answer comes, only the first who ask wait for it; the others see only whether it came since.
#[derive(Debug)]
pub(crate) struct FirstList {
    patience: Duration,
    given_up: AtomicBool,
}

impl FirstList {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, given_up: AtomicBool::new(false) }
    }

    pub(crate) async fn of<K: Kind>(&self, cache: &Cache<K>) -> Result<(), Unreadable> {
        let given_up = self.given_up.load(Ordering::Relaxed);
        let patience = if given_up { Duration::ZERO } else { self.patience };
        let waited = wait(cache, || K::RESOURCE.to_string(), patience).await;
        self.given_up.store(waited.is_err(), Ordering::Relaxed);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable(trouble: ApiError) -> Unreadable {
        Unreadable { what: "secrets ns/aws".to_owned(), trouble: Trouble::Api(trouble) }
    }

    fn refused(code: u16, reason: &str) -> ApiError {
        let (reason, message) = (reason.to_owned(), "not 403 for fun".to_owned());
        ApiError::Refused { code, reason, message, retry_after: None }
    }

    #[test]
    fn a_refusal_is_told_as_what_it_is() {
        let failure = unreadable(refused(403, "Forbidden")).failure();
        let message = "secrets ns/aws cannot be looked at: the API server answered 403 Forbidden: not 403 for fun";
        assert_eq!(failure.message, message);
        assert_eq!((failure.category, failure.retry), (Category::Unauthorised, Retry::Backoff));
    }

    #[test]
    fn other_trouble_does_not_pass_for_a_refusal() {
        let troubles = [
            refused(500, "InternalError"),
            refused(401, "Unauthorized"),
            ApiError::Disconnected("reset by 403 peers".to_owned()),
        ];
        for trouble in troubles {
            let failure = unreadable(trouble).failure();
            assert_eq!(failure.category, Category::Unavailable, "{}", failure.message);
        }
    }
}

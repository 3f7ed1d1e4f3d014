//! Waits for the first sync of a cache. A missing right or no answer is an error: it does not mean that nothing exists.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Classified, Retry};
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::{AnyCache as _, Cache};
use machinist_runtime::cluster::ApiError;

use crate::cloud_access::messages;

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Unreadable {
    message: String,
    forbidden: bool,
    pub(crate) cause: ApiError,
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    Secret(ObjectKey),
    Other(String),
}

impl Unreadable {
    pub(crate) fn new(target: &Target, cause: ApiError) -> Self {
        let forbidden = cause.code() == Some(403);
        let what: &dyn fmt::Display = match target {
            Target::Secret(key) if forbidden => {
                return Self { message: messages::secret_forbidden(key), forbidden, cause };
            }
            Target::Secret(key) => &format!("Secret {key}"),
            Target::Other(what) => what,
        };
        let message = match &cause {
            _ if forbidden => messages::forbidden(what),
            ApiError::TimedOut(_) => messages::unreadable(what, &"no answer"),
            cause => messages::unreadable(what, cause),
        };
        Self { message, forbidden, cause }
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.forbidden
    }
}

impl Classified for Unreadable {
    fn category(&self) -> Category {
        if self.forbidden { Category::Unauthorised } else { Category::Unavailable }
    }

    /// No watch reports that a right was granted.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

pub(crate) async fn wait<K: Kind>(
    cache: &Cache<K>,
    what: impl Fn() -> Target,
    patience: Duration,
) -> Result<(), Unreadable> {
    match tokio::time::timeout(patience, cache.wait_synced_or_trouble()).await {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(Unreadable::new(&what(), error)),
        Err(_) => Err(Unreadable::new(&what(), ApiError::TimedOut(patience))),
    }
}

/// Waits for the first sync of a shared cache. After a timeout, later calls do not wait again.
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
        let waited = wait(cache, || Target::Other(cache.resource().to_string()), patience).await;
        self.given_up.store(waited.is_err(), Ordering::Relaxed);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable(trouble: &ApiError) -> Unreadable {
        Unreadable::new(&Target::Secret(ObjectKey::new("ns", "keys")), trouble.clone())
    }

    fn refused(code: u16, reason: &str) -> ApiError {
        let (reason, message) = (reason.to_owned(), "not 403 for fun".to_owned());
        ApiError::Refused { code, reason, message, retry_after: None }
    }

    #[test]
    fn explains_how_to_grant_a_missing_right() {
        let failure = unreadable(&refused(403, "Forbidden")).failure();
        let message =
            "not allowed to read Secret ns/keys; see deploy/examples/role-credentials.yaml";
        assert_eq!(failure.message, message);
        assert_eq!((failure.category, failure.retry), (Category::Unauthorised, Retry::Backoff));
    }

    #[test]
    fn reports_other_errors_as_unavailable() {
        let troubles = [
            refused(500, "InternalError"),
            refused(401, "Unauthorized"),
            ApiError::Disconnected("reset by 403 peers".to_owned()),
        ];
        for trouble in &troubles {
            let failure = unreadable(trouble).failure();
            assert_eq!(failure.category, Category::Unavailable, "{}", failure.message);
        }
    }
}

//! What can go wrong when an API server is asked: it refuses, or nobody knows what it did.
//!
//! The difference matters more than any status code: after a refusal nothing has happened, otherwise something may have.

use std::error::Error;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Retry};

/// How the API server says that a webhook failed which was to agree to a write, or to translate an object. It says so in words only.
const WEBHOOK_FAILED: [&str; 2] = ["failed calling webhook", "conversion webhook for"];

/// Why a request has no good answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApiError {
    /// The API server answered, and the answer is no.
    #[error("the API server answered {code} {reason}: {message}")]
    Refused {
        /// HTTP status.
        code: u16,
        /// The machine-readable reason of the `Status`; where it names a more exact cause that we know, that one.
        reason: String,
        /// For people.
        message: String,
        /// When to come back, if the server said so.
        retry_after: Option<Duration>,
    },
    /// No answer came in time.
    #[error("no answer from the API server within {0:?}")]
    TimedOut(Duration),
    /// The connection could not be made, or broke.
    #[error("no connection to the API server: {0}")]
    Disconnected(String),
    /// The answer is not what Kubernetes answers.
    #[error("the API server's answer was not understood: {0}")]
    NotUnderstood(String),
}

impl ApiError {
    /// Whether a write that failed like this may have happened all the same.
    ///
    /// An answer of 5xx counts: a write that etcd answered too late is reported as a server error.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code >= 500,
            Self::TimedOut(_) | Self::Disconnected(_) | Self::NotUnderstood(_) => true,
        }
    }

    /// The HTTP status, if there was an answer.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::TimedOut(_) | Self::Disconnected(_) | Self::NotUnderstood(_) => None,
        }
    }

    /// Whether a webhook failed: the API server is well, and only whoever looks after the webhook can mend it.
    fn is_of_webhook(&self) -> bool {
        matches!(self, Self::Refused { code: 500.., message, .. }
            if WEBHOOK_FAILED.iter().any(|words| message.contains(words)))
    }

    pub(crate) fn disconnected(error: &dyn Error) -> Self {
        Self::Disconnected(chain(error))
    }
}

impl Classified for ApiError {
    fn category(&self) -> Category {
        match self {
            _ if self.is_of_webhook() => Category::Unexpected,
            Self::Refused { code: 400 | 422, .. } => Category::InvalidConfiguration,
            Self::Refused { code: 401 | 403, .. } => Category::Unauthorised,
            Self::Refused { code: 404 | 410, .. } => Category::NotFound,
            Self::Refused { code: 409, .. } => Category::Conflict,
            Self::Refused { code: 429, .. } => Category::Throttled,
            Self::Refused { code: 500.., .. } | Self::TimedOut(_) | Self::Disconnected(_) => {
                Category::Unavailable
            }
            Self::Refused { .. } | Self::NotUnderstood(_) => Category::Unexpected,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Refused { retry_after: Some(after), .. } => Retry::After(*after),
            Self::Refused { code: 400 | 422, .. } => Retry::OnChange,
            Self::Refused { code: 409, .. } => Retry::Soon,
            _ => Retry::Backoff,
        }
    }
}

/// The message of an error and of everything that caused it, because the outermost one is rarely the one that helps.
fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, retry_after: Option<u64>) -> ApiError {
        ApiError::Refused {
            code,
            reason: "Reason".to_owned(),
            message: "message".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn every_answer_has_a_category_and_a_way_to_retry() {
        let cases = [
            (refused(409, None), Category::Conflict, Retry::Soon, false),
            (refused(422, None), Category::InvalidConfiguration, Retry::OnChange, false),
            (refused(403, None), Category::Unauthorised, Retry::Backoff, false),
            (
                refused(429, Some(3)),
                Category::Throttled,
                Retry::After(Duration::from_secs(3)),
                false,
            ),
            (refused(500, None), Category::Unavailable, Retry::Backoff, true),
            (ApiError::TimedOut(Duration::ZERO), Category::Unavailable, Retry::Backoff, true),
            (ApiError::Disconnected(String::new()), Category::Unavailable, Retry::Backoff, true),
        ];
        for (error, category, retry, may_have_happened) in cases {
            assert_eq!(error.category(), category, "{error}");
            assert_eq!(error.retry(), retry, "{error}");
            assert_eq!(error.may_have_happened(), may_have_happened, "{error}");
        }
    }

    #[test]
    fn a_webhook_that_fails_is_no_outage() {
        let messages = [
            r#"Internal error occurred: failed calling webhook "v.example.dev": failed to call webhook: Post "https://v.example.svc:443/": connection refused"#,
            "conversion webhook for example.dev/v1, Kind=Thing failed: no endpoints available",
        ];
        for message in messages {
            let error = ApiError::Refused {
                code: 500,
                reason: "InternalError".to_owned(),
                message: message.to_owned(),
                retry_after: None,
            };
            assert_eq!((error.category(), error.retry()), (Category::Unexpected, Retry::Backoff));
            assert!(error.may_have_happened(), "{error}");
        }
    }
}

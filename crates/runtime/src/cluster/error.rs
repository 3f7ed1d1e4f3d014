//! After a rejection (4xx) of a request nothing was executed; after any other error it may have been.

use std::error::Error;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified, Retry};

/// The API server's texts for a failed admission or conversion webhook. There is no reason code.
const WEBHOOK_FAILED: [&str; 2] = ["failed calling webhook", "conversion webhook for"];

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApiError {
    Refused {
        code: u16,
        /// The reason of the `Status`, or a more exact known cause in it.
        reason: String,
        message: String,
        /// `Retry-After`, if sent.
        retry_after: Option<Duration>,
    },
    TimedOut(Duration),
    Disconnected(String),
    NotUnderstood(String),
}

impl ApiError {
    /// Whether a failed write may have been executed. A 5xx counts: etcd may have answered too late.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.code().is_none_or(|code| code >= 500)
    }

    /// The HTTP status, if there was a response.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::TimedOut(_) | Self::Disconnected(_) | Self::NotUnderstood(_) => None,
        }
    }

    /// Whether a right is missing.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self.code(), Some(401 | 403))
    }

    /// Whether a webhook failed rather than the API server.
    fn is_of_webhook(&self) -> bool {
        matches!(self, Self::Refused { code: 500.., message, .. }
            if WEBHOOK_FAILED.iter().any(|words| message.contains(words)))
    }

    pub(crate) fn disconnected(error: &dyn Error) -> Self {
        Self::Disconnected(chain(error))
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::NotUnderstood(error.to_string())
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

/// The message with those of all causes: the outermost one rarely helps.
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
    fn every_error_has_a_category_and_a_retry_class() {
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
    fn failed_webhook_is_no_outage() {
        let messages = [
            r#"Internal error occurred: failed calling webhook "v.example.dev": Post "https://v.svc:443/": refused"#,
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

//! A credentials error is nested deep in an SDK error, so the chain of causes is searched for the category.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use machinist_domain::key::ObjectKey;
use machinist_domain::permit::Expired;
use machinist_domain::retry::{Category, Classified, Failure, Retry};

use crate::messages;

/// AWS messages are truncated: some contain kilobytes of encoded detail that differs each time.
const LONGEST_MESSAGE: usize = 300;

/// Why an AWS call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum AwsError {
    NoSuchRegion(String),
    /// Credentials, CA bundle, region or cluster settings cannot be used, or the permit has expired: no request was
    /// sent. Or instance types were not fetched because the code panicked.
    Access(Failure),
    Refused {
        operation: &'static str,
        code: String,
        message: String,
        category: Category,
    },
    NoResponse {
        operation: &'static str,
        reason: String,
    },
    /// A response that is not from AWS or incomplete, such as an HTML page.
    InvalidResponse {
        operation: &'static str,
        status: u16,
        reason: String,
    },
}

impl Error for AwsError {}

impl Classified for AwsError {
    fn category(&self) -> Category {
        match self {
            Self::NoSuchRegion(_) => Category::InvalidConfiguration,
            Self::Access(Failure { category, .. }) | Self::Refused { category, .. } => *category,
            Self::NoResponse { .. } | Self::InvalidResponse { .. } => Category::Unavailable,
        }
    }

    fn retry(&self) -> Retry {
        match (self, self.category()) {
            (_, Category::InvalidConfiguration) => Retry::OnChange,
            (Self::Access(failure), _) => failure.retry,
            _ => Retry::Backoff,
        }
    }
}

impl AwsError {
    pub(crate) fn access(category: Category, message: impl Into<String>) -> Self {
        Self::Access(Failure { category, retry: Retry::Backoff, message: message.into() })
    }

    pub(crate) fn invalid_access(message: impl Into<String>) -> Self {
        Self::access(Category::InvalidConfiguration, message)
    }

    pub(crate) fn secret(key: &ObjectKey, failure: Failure) -> Self {
        let message = messages::secret_unreadable(key, failure.message);
        // The object that names a missing Secret must be edited.
        let category = match failure.category {
            Category::NotFound => Category::InvalidConfiguration,
            category => category,
        };
        Self::Access(Failure { category, message, ..failure })
    }

    /// Converts an SDK error. With `from_secret`, incomplete credentials are an invalid configuration.
    pub(crate) fn of<E>(operation: &'static str, error: &SdkError<E>, from_secret: bool) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        if let Some(cause) = find::<CredentialsError>(error) {
            return Self::credentials(cause, from_secret);
        }
        if let Some(expired) = find::<Expired>(error) {
            return Self::access(Category::NotLeader, expired.to_string());
        }
        let status = error.raw_response().map_or(0, |response| response.status().as_u16());
        match (error.code(), status) {
            (Some(code), status) => {
                Self::refused(operation, code, error.message().unwrap_or("no reason given"), status)
            }
            (None, 0) => Self::NoResponse { operation, reason: short(&deepest(error)) },
            (None, status) => {
                Self::InvalidResponse { operation, status, reason: short(&deepest(error)) }
            }
        }
    }

    pub(crate) fn refused(operation: &'static str, code: &str, message: &str, status: u16) -> Self {
        let (code, category) = (code.to_owned(), category_of(code, status));
        Self::Refused { operation, code, message: short(message), category }
    }

    pub(crate) fn incomplete(operation: &'static str, reason: &str) -> Self {
        Self::InvalidResponse { operation, status: 200, reason: reason.to_owned() }
    }

    pub(crate) fn has_code(&self, expected: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == expected)
    }

    fn credentials(error: &CredentialsError, from_secret: bool) -> Self {
        let sts = refusal_of_sts(error);
        if let Some((Some(code), message)) = sts {
            return Self::refused("AssumeRole", code, message.unwrap_or("no reason given"), 400);
        }
        let category = match error {
            CredentialsError::InvalidConfiguration(_) => Category::InvalidConfiguration,
            CredentialsError::CredentialsNotLoaded(_) if from_secret => {
                Category::InvalidConfiguration
            }
            CredentialsError::ProviderTimedOut(_) => Category::Unavailable,
            _ if find::<ConnectorError>(error).is_some() || sts.is_some() => Category::Unavailable,
            _ => Category::Unauthorised,
        };
        Self::access(category, messages::no_credentials(&short(&deepest(error)), from_secret))
    }
}

/// By HTTP status if the code is unknown.
fn category_of(code: &str, status: u16) -> Category {
    match code {
        "AccessDenied"
        | "AccessDeniedException"
        | "AuthFailure"
        | "Blocked"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "IDPRejectedClaim"
        | "IncompleteSignature"
        | "InvalidAccessKeyId"
        | "InvalidClientTokenId"
        | "InvalidIdentityToken"
        | "InvalidSecurity.RequestHasExpired"
        | "MissingAuthenticationToken"
        | "PendingVerification"
        | "RequestExpired"
        | "RequestTimeTooSkewed"
        | "SignatureDoesNotMatch"
        | "UnauthorizedOperation"
        | "UnrecognizedClientException" => Category::Unauthorised,
        "OptInRequired" | "RegionDisabledException" => Category::InvalidConfiguration,
        "BandwidthLimitExceeded"
        | "Client.RequestLimitExceeded"
        | "EC2ThrottledException"
        | "PriorRequestNotComplete"
        | "RequestLimitExceeded"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "SlowDown"
        | "ThrottledException"
        | "Throttling"
        | "ThrottlingException"
        | "TooManyRequestsException" => Category::Throttled,
        "IDPCommunicationError"
        | "InternalError"
        | "InternalFailure"
        | "RequestTimeout"
        | "RequestTimeoutException"
        | "ServiceUnavailable"
        | "Unavailable" => Category::Unavailable,
        _ if status == 429 => Category::Throttled,
        _ if status >= 500 => Category::Unavailable,
        _ => Category::Unexpected,
    }
}

/// Code and message of an STS error. Without a code the response is not from STS, but usually an HTML page.
fn refusal_of_sts<'a>(
    error: &'a (dyn Error + 'static),
) -> Option<(Option<&'a str>, Option<&'a str>)> {
    fn of<E: ProvideErrorMetadata>(error: &E) -> (Option<&str>, Option<&str>) {
        (error.code(), error.message())
    }
    let role = find::<AssumeRoleError>(error).map(of);
    role.or_else(|| find::<AssumeRoleWithWebIdentityError>(error).map(of))
}

fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    causes(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// The last cause is the most specific: the others are "dispatch failure".
fn deepest(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn short(message: &str) -> String {
    let end = message.find("Encoded authorization failure message").unwrap_or(message.len());
    let line = message[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_fall_into_their_categories() {
        let cases = [
            ("AuthFailure", 401, Category::Unauthorised),
            ("UnauthorizedOperation", 403, Category::Unauthorised),
            ("ExpiredToken", 400, Category::Unauthorised),
            ("InvalidSecurity.RequestHasExpired", 400, Category::Unauthorised),
            ("RequestTimeTooSkewed", 403, Category::Unauthorised),
            ("OptInRequired", 401, Category::InvalidConfiguration),
            ("RequestLimitExceeded", 503, Category::Throttled),
            ("Throttling", 400, Category::Throttled),
            ("SomethingNew", 429, Category::Throttled),
            ("InternalError", 500, Category::Unavailable),
            ("SomethingNew", 502, Category::Unavailable),
            ("InvalidParameterValue", 400, Category::Unexpected),
        ];
        for (code, status, expected) in cases {
            assert_eq!(category_of(code, status), expected, "{code} {status}");
        }
    }

    #[test]
    fn a_missing_secret_waits_for_an_edit_and_an_unreachable_one_does_not() {
        let error = |category, retry| {
            let failure = Failure { category, retry, message: "no".into() };
            AwsError::secret(&ObjectKey::new("ns", "aws"), failure)
        };
        let missing = error(Category::NotFound, Retry::Backoff);
        assert_eq!(
            (missing.category(), missing.retry()),
            (Category::InvalidConfiguration, Retry::OnChange)
        );
        let down = error(Category::Unavailable, Retry::Backoff);
        assert_eq!((down.category(), down.retry()), (Category::Unavailable, Retry::Backoff));
        assert_eq!(down.to_string(), "cannot read Secret ns/aws: no");
    }

    #[test]
    fn incomplete_credentials_of_a_secret_wait_for_an_edit() {
        let none = CredentialsError::not_loaded("nothing here");
        assert_eq!(AwsError::credentials(&none, true).retry(), Retry::OnChange);
        let ambient = AwsError::credentials(&none, false);
        assert_eq!((ambient.category(), ambient.retry()), (Category::Unauthorised, Retry::Backoff));
        let slow = CredentialsError::provider_timed_out(std::time::Duration::from_secs(5));
        assert_eq!(AwsError::credentials(&slow, true).category(), Category::Unavailable);
    }

    #[test]
    fn messages_are_one_short_stable_line() {
        let text = "You are not authorized.\nEncoded authorization failure message: x7Gh";
        assert_eq!(short(text), "You are not authorized.");
        assert_eq!(short(&"ä".repeat(1000)).chars().count(), LONGEST_MESSAGE + 1);
    }
}

//! The `Status` with which an API server says no, as an [`ApiError`].
//!
//! Input: the code and body of an answer. Output: an error whose reason is the most exact one that the answer names. Something else than
//! a `Status` (a load balancer's page, say) is an error, too.

use std::time::Duration;

use super::error::ApiError;

/// The cause by which the eviction of a pod is refused because of a PodDisruptionBudget.
pub(crate) const DISRUPTION_BUDGET: &str = "DisruptionBudget";

/// The cause by which nothing can be created in a namespace any more.
pub(crate) const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Causes that say more than the reason does.
const EXACT_CAUSES: [&str; 2] = [DISRUPTION_BUDGET, NAMESPACE_TERMINATING];

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    code: u16,
    details: Option<Details>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
}

/// The error that an answer with an error code is.
pub(super) fn refused(code: u16, retry_after: Option<Duration>, body: &[u8]) -> ApiError {
    let Status { mut reason, mut message, details, .. } = serde_json::from_slice(body)
        .unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned(),
            ..Status::default()
        });
    let causes = details.unwrap_or_default().causes;
    if let Some(cause) = causes.into_iter().find(|cause| EXACT_CAUSES.contains(&&*cause.reason)) {
        // Which budget it is stands in the cause alone.
        if cause.reason == DISRUPTION_BUDGET {
            message = format!("{message} {}", cause.message);
        }
        reason = cause.reason;
    }
    ApiError::Refused { code, reason, message, retry_after }
}

/// The error that stands in an ERROR line of a watch.
pub(crate) fn refused_in_stream(body: &str) -> ApiError {
    let code = serde_json::from_str::<Status>(body).map_or(500, |status| status.code);
    refused(code, None, body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_that_forbids_an_eviction_is_named() {
        let body = br#"{"kind":"Status","reason":"TooManyRequests","code":429,
            "message":"Cannot evict pod as it would violate the pod's disruption budget.",
            "details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}"#;
        let ApiError::Refused { reason, message, .. } = refused(429, None, body) else {
            panic!("an answer is a refusal");
        };
        assert_eq!(reason, DISRUPTION_BUDGET);
        assert!(message.contains("budget web needs 2"), "{message}");
    }

    #[test]
    fn a_namespace_that_goes_is_the_reason_not_a_missing_right() {
        let body = br#"{"kind":"Status","reason":"Forbidden","code":403,
            "message":"unable to create new content in namespace web because it is being terminated",
            "details":{"causes":[{"reason":"NamespaceTerminating","message":"namespace web is being terminated","field":"metadata.namespace"}]}}"#;
        let ApiError::Refused { reason, .. } = refused(403, None, body) else {
            panic!("an answer is a refusal");
        };
        assert_eq!(reason, NAMESPACE_TERMINATING);
    }

    #[test]
    fn what_is_no_status_is_an_error_all_the_same() {
        let error = refused(502, None, b"<html>bad gateway</html>");
        assert!(error.to_string().contains("bad gateway"), "{error}");
        assert!(error.may_have_happened());
    }
}

//! Converts a rejection (`Status`) to an [`ApiError`] with the most exact reason. kube's own type refuses what gateways
//! and webhooks write (`"status": 503`), so only what is used is read.

use std::time::Duration;

use super::error::ApiError;

pub(crate) const DISRUPTION_BUDGET: &str = "DisruptionBudget";

pub(crate) const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// Causes that are more exact than the reason.
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

pub(super) fn refused(code: u16, retry_after: Option<Duration>, body: &[u8]) -> ApiError {
    let Status { mut reason, mut message, details, .. } = serde_json::from_slice(body)
        .unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned(),
            ..Status::default()
        });
    let mut causes = details.into_iter().flat_map(|details| details.causes);
    if let Some(cause) = causes.find(|cause| EXACT_CAUSES.contains(&&*cause.reason)) {
        // Only the cause names the budget.
        if cause.reason == DISRUPTION_BUDGET {
            message = format!("{message} {}", cause.message);
        }
        reason = cause.reason;
    }
    ApiError::Refused { code, reason, message, retry_after }
}

pub(crate) fn refused_in_stream(body: &str) -> ApiError {
    let code = serde_json::from_str::<Status>(body).map_or(500, |status| status.code);
    refused(code, None, body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_the_budget_that_refuses_an_eviction() {
        let body = br#"{"kind":"Status","reason":"TooManyRequests","code":429,
            "message":"Cannot evict pod as it would violate the pod's disruption budget.",
            "details":{"causes":[{"reason":"DisruptionBudget",
            "message":"The disruption budget web needs 2 healthy pods and has 2 currently"}]}}"#;
        let ApiError::Refused { reason, message, .. } = refused(429, None, body) else {
            panic!("an answer is a refusal");
        };
        assert_eq!(reason, DISRUPTION_BUDGET);
        assert!(message.contains("budget web needs 2"), "{message}");
    }

    #[test]
    fn terminating_namespace_is_not_a_missing_permission() {
        let body = br#"{"kind":"Status","reason":"Forbidden","code":403,
            "message":"unable to create new content in namespace web because it is being terminated",
            "details":{"causes":[{"reason":"NamespaceTerminating",
            "message":"namespace web is being terminated","field":"metadata.namespace"}]}}"#;
        let ApiError::Refused { reason, .. } = refused(403, None, body) else {
            panic!("an answer is a refusal");
        };
        assert_eq!(reason, NAMESPACE_TERMINATING);
    }

    #[test]
    fn status_of_a_gateway_is_read() {
        let body = br#"{"status":503,"reason":"Overloaded","message":"try later"}"#;
        let ApiError::Refused { reason, message, .. } = refused(503, None, body) else {
            panic!("an answer is a refusal");
        };
        assert_eq!((&*reason, &*message), ("Overloaded", "try later"));
    }

    #[test]
    fn body_without_a_status_is_an_error() {
        let error = refused(502, None, b"<html>bad gateway</html>");
        assert!(error.to_string().contains("bad gateway"), "{error}");
        assert!(error.may_have_happened());
    }
}

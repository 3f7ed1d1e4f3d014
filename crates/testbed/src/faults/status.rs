//! Error answers that look like the API server's own: a `Status` object with the reason that the code
//! has for the verb in question.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::{ApiRequest, Verb};

/// A complete error answer.
pub(super) fn error_answer(
    request: &ApiRequest,
    code: u16,
    retry_after: Option<u32>,
) -> Response<Bytes> {
    let reason = reason(request.verb, code);
    let mut details = json!({
        "name": request.name.as_deref().unwrap_or_default(),
        "group": request.group,
        "kind": request.resource,
    });
    if let Some(seconds) = retry_after {
        details["retryAfterSeconds"] = seconds.into();
    }
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("injected fault: {reason} for {request}"),
        "reason": reason,
        "details": details,
        "code": code,
    });
    let mut response = Response::new(Bytes::from(status.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

const fn reason(verb: Verb, code: u16) -> &'static str {
    match (code, verb) {
        (400, _) => "BadRequest",
        (401, _) => "Unauthorized",
        (403, _) => "Forbidden",
        (404, _) => "NotFound",
        (409, Verb::Create) => "AlreadyExists",
        (409, _) => "Conflict",
        (410, _) => "Expired",
        (422, _) => "Invalid",
        (429, _) => "TooManyRequests",
        (500, _) => "InternalError",
        (503, _) => "ServiceUnavailable",
        (504, _) => "Timeout",
        _ => "",
    }
}

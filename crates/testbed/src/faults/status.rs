//! Error answers that look like the API server's own. Calls to AWS are answered as AWS does (`query_call`).

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::{ApiRequest, query_call};

pub(super) fn error_answer(
    request: &ApiRequest,
    code: u16,
    retry_after: Option<u32>,
) -> Response<Bytes> {
    if request.is_query_call() {
        return query_call::error_answer(request, code);
    }
    let reason = reason(code);
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

const fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        // Also for a create: `AlreadyExists` is never the answer about an object that does not exist.
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

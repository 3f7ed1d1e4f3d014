//! Calls in the Query protocol of AWS, behind the same proxy as the API server. Their resource is the action.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};

use super::request::header;
use super::{ApiRequest, Verb};

pub(super) const UNDER: &str = "/clouds/aws";

const FORM: &str = "application/x-www-form-urlencoded";
const READS: [&str; 3] = ["Describe", "Get", "List"];
/// The version of EC2, which wraps errors in its own way.
const EC2: &str = "2016-11-15";

pub(super) fn read(parts: &Parts, body: &Bytes) -> Option<ApiRequest> {
    let path = parts.uri.path();
    if !path.starts_with(UNDER) || !header(parts, &header::CONTENT_TYPE).starts_with(FORM) {
        return None;
    }
    let action = parameter(body, "Action")?;
    let is_read = READS.iter().any(|start| action.starts_with(start));
    Some(ApiRequest {
        user_agent: header(parts, &header::USER_AGENT).to_owned(),
        verb: if is_read { Verb::List } else { Verb::Create },
        group: "aws".to_owned(),
        resource: action,
        subresource: None,
        namespace: None,
        name: None,
        path: path.to_owned(),
        body: body.clone(),
    })
}

/// As AWS words it, for a code that an API server would use.
pub(super) fn error_answer(request: &ApiRequest, code: u16) -> Response<Bytes> {
    let is_ec2 = parameter(&request.body, "Version").is_some_and(|version| version == EC2);
    let (status, word) = match code {
        // It would work later: another operation is in progress.
        409 => (400, "IncorrectState"),
        429 if is_ec2 => (503, "RequestLimitExceeded"),
        429 => (400, "Throttling"),
        code => (code, "InternalError"),
    };
    let message = format!("injected fault for {request}");
    let error = format!("<Error><Code>{word}</Code><Message>{message}</Message></Error>");
    let document = if is_ec2 {
        format!("<Response><Errors>{error}</Errors><RequestID>0</RequestID></Response>")
    } else {
        format!("<ErrorResponse>{error}<RequestId>0</RequestId></ErrorResponse>")
    };
    let mut response = Response::new(Bytes::from(document));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    response
}

fn parameter(body: &Bytes, wanted: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(body);
    pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str, body: &'static str) -> Option<ApiRequest> {
        let request = http::Request::post(path).header(header::CONTENT_TYPE, FORM).body(());
        let (parts, ()) = request.unwrap().into_parts();
        read(&parts, &Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn what_changes_something_is_a_write() {
        let run = call("/clouds/aws/", "Action=RunInstances&Version=2016-11-15").unwrap();
        assert_eq!((&*run.to_string(), run.is_write()), ("create RunInstances", true));
        let look = call("/clouds/aws/", "Action=DescribeInstances&Version=2016-11-15").unwrap();
        assert!(look.is_query_call() && !look.is_write());
        assert_eq!(call("/apis/x/v1/y", "Action=RunInstances"), None);
    }

    #[test]
    fn refusals_are_worded_as_the_service_words_them() {
        let ec2 = call("/clouds/aws/", "Action=RunInstances&Version=2016-11-15").unwrap();
        let answer = error_answer(&ec2, 429);
        assert_eq!(answer.status(), 503);
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        assert!(text.starts_with("<Response><Errors><Error><Code>RequestLimitExceeded<"), "{text}");
        let balancing = call("/clouds/aws/", "Action=RegisterTargets&Version=2015-12-01").unwrap();
        let text = String::from_utf8_lossy(error_answer(&balancing, 500).body()).into_owned();
        assert!(text.starts_with("<ErrorResponse><Error><Code>InternalError<"), "{text}");
    }
}

//! EC2 wraps errors differently from every other service that speaks the Query protocol; an SDK that finds the wrong
//! shape sees an error without a code.

use anyhow::Result;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::Full;

use super::query::Query;
use super::rules::Effect;
use super::xml::Element;

const EC2: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";
const AUTO_SCALING: &str = "http://autoscaling.amazonaws.com/doc/2011-01-01/";

#[derive(Clone, Debug)]
pub(in crate::aws) struct Answer {
    pub(in crate::aws) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(in crate::aws) body: Bytes,
}

impl Answer {
    fn xml(status: StatusCode, root: &Element) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
        Self { status, headers, body: root.to_document().into() }
    }

    pub(super) fn auto_scaling(action: &str, result: Option<Element>) -> Self {
        let mut root = Element::root(&format!("{action}Response"), AUTO_SCALING);
        root.children.extend(result);
        let metadata = Element::new("ResponseMetadata").text_child("RequestId", &random_id());
        Self::xml(StatusCode::OK, &root.child(metadata))
    }

    pub(super) fn error(query: &Query, status: StatusCode, code: &str, message: &str) -> Self {
        let error = Element::new("Error");
        let root = if query.service == "ec2" {
            let error = error.text_child("Code", code).text_child("Message", message);
            Element::root("Response", EC2)
                .child(Element::new("Errors").child(error))
                .text_child("RequestID", &random_id())
        } else {
            let blame = if status.is_server_error() { "Receiver" } else { "Sender" };
            let error = error
                .text_child("Type", blame)
                .text_child("Code", code)
                .text_child("Message", message);
            Element::root("ErrorResponse", AUTO_SCALING)
                .child(error)
                .text_child("RequestId", &random_id())
        };
        Self::xml(status, &root)
    }

    fn page_of_html() -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        let body = Bytes::from_static(b"<!doctype html><title>Welcome</title><p>It works!");
        Self { status: StatusCode::OK, headers, body }
    }

    pub(super) fn refusal(query: &Query, effect: &Effect) -> Option<Self> {
        let refuse =
            |status, code: &str, message: &str| Some(Self::error(query, status, code, message));
        match effect {
            Effect::Throttle if query.service == "ec2" => refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "RequestLimitExceeded",
                "Request limit exceeded.",
            ),
            Effect::Throttle => refuse(StatusCode::BAD_REQUEST, "Throttling", "Rate exceeded"),
            Effect::NoCapacity => refuse(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InsufficientInstanceCapacity",
                "There is not enough capacity of this instance type in the zone right now.",
            ),
            Effect::Refuse { status, code, message } => refuse(*status, code, message),
            Effect::Garble => Some(Self::page_of_html()),
            Effect::ResetBefore | Effect::ResetAfter | Effect::Delay(_) => None,
        }
    }

    /// Answers that are no XML (moto reports what it cannot do as an HTML page) and errors pass as they are.
    pub(super) fn edit(self, change: impl FnOnce(&mut Element)) -> Self {
        let Ok(mut root) = self.document() else {
            return self;
        };
        change(&mut root);
        Self { body: root.to_document().into(), ..self }
    }

    pub(in crate::aws) fn document(&self) -> Result<Element> {
        anyhow::ensure!(self.status.is_success(), "moto answered {}", self.status);
        Element::parse(&self.body)
    }

    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// In the form that AWS gives to requests and refreshes.
pub(super) fn random_id() -> String {
    let mut hex = format!("{:032x}", fastrand::u128(..));
    for at in [20, 16, 12, 8] {
        hex.insert(at, '-');
    }
    hex
}

//! HTTP requests to the simulated cloud, with a timeout and classified errors. Nothing is retried here.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use machinist_domain::permit;
use machinist_domain::retry::Classified as _;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{SimClient, not_called};
use crate::messages;
use crate::wire::{Code, Refusal};

const AGENT: &str = concat!("machinist-sim/", env!("CARGO_PKG_VERSION"));

const IDLE_CONNECTIONS: usize = 32;

pub(super) type Http = Client<HttpConnector, Full<Bytes>>;

/// The endpoint and the token. Not printable, because of the token.
pub(super) struct Address {
    pub(super) endpoint: String,
    pub(super) bearer: Option<String>,
}

pub(super) fn client() -> Http {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .build(connector)
}

impl SimClient {
    /// Sends a request, which is counted as `operation`.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        to: &Address,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, CloudError> {
        let timeout = self.parts.timings.request;
        let answer = tokio::time::timeout(timeout, self.exchange(to, method, path, body));
        let answer = answer.await.unwrap_or_else(|_| {
            Err(CloudError::new(ErrorClass::Unavailable, messages::timed_out(timeout)))
        });
        let result = answer.and_then(|answer| read(&answer));
        let word = result.as_ref().map_or_else(|error| error.category().as_str(), |_| "ok");
        self.parts.metrics.record_call(operation, word);
        result
    }

    async fn exchange(
        &self,
        to: &Address,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Bytes>, CloudError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", to.endpoint))
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &to.bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(|error| unsent(&error))?;
        if request.method() != Method::GET {
            permit::check()?;
        }
        let response = self.http.request(request).await.map_err(|error| {
            // Without a connection nothing was sent.
            let effect = if error.is_connect() { Effect::None } else { Effect::Unclear };
            CloudError { effect, ..lost(&error) }
        })?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| lost(&error))?.to_bytes();
        Ok(Response::from_parts(head, body))
    }
}

pub(super) fn json(body: &impl Serialize) -> Result<Bytes, CloudError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| unsent(&error))
}

fn read<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T, CloudError> {
    if answer.status().is_success() {
        return serde_json::from_slice(answer.body()).map_err(|error| {
            CloudError::new(ErrorClass::Unexpected, messages::bad_response(&error))
        });
    }
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|value| value.parse().ok());
    Err(refused(answer.status(), answer.body(), retry_after.map(Duration::from_secs)))
}

fn unsent(error: &dyn std::error::Error) -> CloudError {
    not_called(ErrorClass::Unexpected, messages::not_sent(error))
}

/// The effect is unclear.
fn lost(error: &(dyn std::error::Error + 'static)) -> CloudError {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    CloudError::new(ErrorClass::Unavailable, messages::no_response(&causes))
}

/// By code; a response of a proxy has only a status.
fn refused(status: StatusCode, body: &[u8], retry_after: Option<Duration>) -> CloudError {
    let refusal = serde_json::from_slice::<Refusal>(body).ok();
    let class = match refusal.as_ref().map(|refusal| refusal.code) {
        Some(Code::InvalidParameter) => ErrorClass::InvalidConfiguration,
        Some(Code::NotFound) => ErrorClass::NotFound,
        Some(Code::InsufficientCapacity) => ErrorClass::CapacityExhausted,
        Some(Code::Throttled) => ErrorClass::Throttled,
        Some(Code::Unauthorised) => ErrorClass::Unauthorised,
        Some(Code::Unavailable) => ErrorClass::Unavailable,
        Some(Code::TokenMismatch) => ErrorClass::Unexpected,
        None => match status.as_u16() {
            401 | 403 => ErrorClass::Unauthorised,
            429 => ErrorClass::Throttled,
            500.. => ErrorClass::Unavailable,
            _ => ErrorClass::Unexpected,
        },
    };
    let message = refusal.as_ref().map_or_else(|| messages::bad_status(status), messages::refused);
    CloudError { retry_after, ..CloudError::new(class, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_win_over_statuses_and_both_have_classes() {
        let no_room = br#"{"code":"InsufficientCapacity","message":"full"}"#;
        let cases: [(u16, &[u8], ErrorClass, Effect); 6] = [
            (409, no_room, ErrorClass::CapacityExhausted, Effect::None),
            (409, br#"{"kind":"Status"}"#, ErrorClass::Unexpected, Effect::Unclear),
            (429, b"", ErrorClass::Throttled, Effect::None),
            (500, b"<html>", ErrorClass::Unavailable, Effect::Unclear),
            (403, b"", ErrorClass::Unauthorised, Effect::None),
            (404, b"no such route", ErrorClass::Unexpected, Effect::Unclear),
        ];
        for (status, body, class, effect) in cases {
            let error = refused(StatusCode::from_u16(status).unwrap(), body, None);
            assert_eq!((error.class, error.effect), (class, effect), "{status} {error}");
        }
    }
}

//! Requests to one API server with one user agent. kube's typed `Api` is not used, because it hides lenient types,
//! undecodable objects in a list, `Retry-After`, and a deadline per request. kube's retries are disabled: the queue
//! decides when to retry.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;

use super::connection;
use super::error::ApiError;
use super::reach::Reach;
use super::status::refused;
use crate::metrics::Metrics;
use crate::timings::Timings;
use crate::user_agent::UserAgent;

/// The longest line of a watch, far above etcd's object size limit.
const LONGEST_LINE: usize = 32 << 20;

const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// A cluster.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    pub(crate) url: String,
    request_timeout: Duration,
    pub(super) metrics: Arc<Metrics>,
    /// `None` in commands.
    pub(crate) reach: Option<Reach>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client holds credentials.
        f.debug_struct("Cluster").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Prepares connections; sends nothing.
    pub fn new(mut config: kube::Config, timings: &Timings) -> Result<Self, kube::Error> {
        config.default_retry = false;
        let url = config.cluster_url.to_string();
        let client = connection::client(config)?;
        let (request_timeout, metrics) = (timings.request, Arc::default());
        Ok(Self { client, url, request_timeout, metrics, reach: None })
    }

    /// No cluster: requests to it fail.
    pub fn absent(timings: &Timings) -> Result<Self, kube::Error> {
        Self::new(kube::Config::new(http::Uri::from_static("http://127.0.0.1:9")), timings)
    }

    #[cfg(test)]
    pub(crate) fn nowhere(timings: &Timings) -> Self {
        Self::absent(timings).expect("a client")
    }

    #[cfg(test)]
    pub(crate) fn played_by(client: kube::Client, timings: &Timings) -> Self {
        let (url, metrics) = ("played".to_owned(), Arc::default());
        Self { client, url, request_timeout: timings.request, metrics, reach: None }
    }

    #[must_use]
    pub(crate) fn counted_by(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    #[must_use]
    pub(crate) fn reached_by(self, reach: Reach) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// A session with this user agent.
    pub fn session(&self, party: UserAgent) -> Session {
        Session { cluster: self.clone(), party: party.header() }
    }
}

/// Requests to one API server with one user agent.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) cluster: Cluster,
    party: HeaderValue,
}

impl Session {
    /// The timeout of a request.
    pub fn request_timeout(&self) -> Duration {
        self.cluster.request_timeout
    }

    /// Reads a whole response.
    pub async fn get(
        &self,
        path: &str,
        accept: &'static str,
        timeout: Duration,
    ) -> Result<Bytes, ApiError> {
        self.exchange(Method::GET, path, accept, None, timeout).await
    }

    pub(crate) async fn lines(&self, path: &str, accept: &'static str) -> Result<Lines, ApiError> {
        let timeout = self.cluster.request_timeout;
        let request = self.request(Method::GET, path, accept, None)?;
        let sent = self.sent();
        let response = within(timeout, self.send(request)).await;
        self.learn(sent, &response);
        let response = response?;
        let reach = self.cluster.reach.clone();
        Ok(Lines { body: response.into_body(), buffer: BytesMut::new(), reach })
    }

    /// Sends a request and reads the whole response. A write only for [`crate::writer`], which checks lease, dry run
    /// and preconditions; a body that is no write only for [`super::review`].
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Option<(&'static str, Bytes)>,
        timeout: Duration,
    ) -> Result<Bytes, ApiError> {
        let request = self.request(method, path, accept, body)?;
        let sent = self.sent();
        let answer = within(timeout, async {
            let response = self.send(request).await?;
            let body = response.into_body().collect().await;
            Ok(body.map_err(|error| ApiError::disconnected(&error))?.to_bytes())
        })
        .await;
        self.learn(sent, &answer);
        answer
    }

    fn sent(&self) -> Option<Duration> {
        self.cluster.reach.as_ref().map(Reach::now)
    }

    /// Remembers whether the API server has answered what was sent then.
    fn learn<T>(&self, sent: Option<Duration>, answer: &Result<T, ApiError>) {
        if let Some((reach, sent)) = self.cluster.reach.as_ref().zip(sent) {
            reach.learn(sent, answer);
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Option<(&'static str, Bytes)>,
    ) -> Result<Request<Body>, ApiError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(USER_AGENT, self.party.clone())
            .header(ACCEPT, HeaderValue::from_static(accept));
        let body = match body {
            None => Body::empty(),
            Some((content_type, bytes)) => {
                request = request.header(CONTENT_TYPE, HeaderValue::from_static(content_type));
                Body::from(bytes)
            }
        };
        request.body(body).map_err(|error| ApiError::NotUnderstood(error.to_string()))
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ApiError> {
        let response = self.cluster.client.send(request).await;
        let response = response.map_err(|error| ApiError::disconnected(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| ApiError::disconnected(&error))?.to_bytes();
        Err(refused(code, retry_after, &body))
    }
}

pub(crate) struct Lines {
    body: Body,
    buffer: BytesMut,
    reach: Option<Reach>,
}

impl Lines {
    /// The next line; `None` if the server closed the stream. Cancellation safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(searched + at).freeze();
                self.buffer.advance(1);
                return Ok(Some(line));
            }
            searched = self.buffer.len();
            if searched > LONGEST_LINE {
                return Err(ApiError::NotUnderstood("a line of a watch has no end".to_owned()));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(ApiError::disconnected(&error)),
                Some(Ok(frame)) => {
                    if let Some(reach) = &self.reach {
                        reach.heard();
                    }
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

async fn within<T>(
    timeout: Duration,
    call: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    tokio::time::timeout(timeout, call).await.unwrap_or(Err(ApiError::TimedOut(timeout)))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

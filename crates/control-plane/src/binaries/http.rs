//! A small HTTP client for downloads: GET, redirects, limits on every wait. It knows nothing about releases.

use std::io::Write;
use std::time::Duration;

use ::http::{Request, Response, StatusCode, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use sha2::{Digest, Sha256};

use super::download::DownloadError;
use super::progress::Progress;

/// Offline machines must fall through to the Go build quickly.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Name resolution, TLS and the answer's head; some resolvers need 5 s to say no.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// A body that stands still for this long is given up.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
/// A list of checksums is a few kilobytes; more than this is not one.
const MAX_TEXT: usize = 1 << 20;

/// The client.
pub(super) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

impl Http {
    pub(super) fn new() -> Result<Self, DownloadError> {
        let mut tcp = HttpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        tcp.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
            .map_err(DownloadError::Tls)?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    async fn get(&self, url: &str) -> Result<Response<Incoming>, DownloadError> {
        let mut target = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let bad = || DownloadError::BadUrl { url: target.clone() };
            let uri: Uri = target.parse().map_err(|_| bad())?;
            let request = Request::get(uri)
                .header(header::USER_AGENT, "machinist-control-plane")
                .body(Empty::new())
                .map_err(|_| bad())?;
            let answer = tokio::time::timeout(ANSWER_TIMEOUT, self.client.request(request))
                .await
                .map_err(|_| no_answer(&target))?
                .map_err(|error| broken(&target, &error))?;
            let location = answer.headers().get(header::LOCATION).and_then(|it| it.to_str().ok());
            match (answer.status(), location) {
                (StatusCode::OK, _) => return Ok(answer),
                (status, Some(location)) if status.is_redirection() => {
                    target = String::from(location);
                }
                (status, _) => {
                    return Err(DownloadError::Status { url: target, status });
                }
            }
        }
        Err(DownloadError::Transport {
            url: url.to_owned(),
            reason: "too many redirects".to_owned(),
        })
    }

    pub(super) async fn text(&self, url: &str) -> Result<String, DownloadError> {
        let body = Limited::new(self.get(url).await?.into_body(), MAX_TEXT);
        let bytes = tokio::time::timeout(STALL_TIMEOUT, body.collect())
            .await
            .map_err(|_| no_answer(url))?
            .map_err(|error| broken(url, error.as_ref()))?
            .to_bytes();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes the body to the file and returns its SHA-256 sum in hexadecimal.
    pub(super) async fn save(
        &self,
        url: &str,
        file: &mut std::fs::File,
    ) -> Result<String, DownloadError> {
        let answer = self.get(url).await?;
        let length = answer
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let progress = Progress::download(url, length);
        let mut body = answer.into_body();
        let mut hash = Sha256::new();
        loop {
            let next = tokio::time::timeout(STALL_TIMEOUT, body.frame()).await;
            let Some(frame) = next.map_err(|_| no_answer(url))? else {
                break;
            };
            let frame = frame.map_err(|error| broken(url, &error))?;
            if let Some(data) = frame.data_ref() {
                hash.update(data);
                file.write_all(data).map_err(|error| broken(url, &error))?;
                progress.advance(data.len());
            }
        }
        progress.finish();
        let digits: Vec<String> =
            hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(digits.concat())
    }
}

fn no_answer(url: &str) -> DownloadError {
    DownloadError::Transport { url: url.to_owned(), reason: "no answer in time".to_owned() }
}

/// Puts the causes of a transport error on one line: the outermost one alone says nothing.
fn broken(url: &str, error: &dyn std::error::Error) -> DownloadError {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        reason = format!("{reason}: {inner}");
        cause = inner.source();
    }
    DownloadError::Transport { url: url.to_owned(), reason }
}

//! Requests to moto go one at a time: its threads share unguarded dictionaries, so parallel calls now and then end in
//! a Python traceback, and its interpreter lock makes them no slower this way. All fronts of one moto share the gate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::answer::Answer;
use super::query::Query;

#[derive(Clone, Debug)]
pub(in crate::aws) struct Upstream {
    address: SocketAddr,
    gate: Arc<Mutex<()>>,
    changes: Arc<AtomicU64>,
}

impl Upstream {
    pub(in crate::aws) fn new(address: SocketAddr) -> Self {
        Self { address, gate: Arc::default(), changes: Arc::default() }
    }

    pub(in crate::aws) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many calls may have changed something. What was read after this number was taken contains all of them.
    pub(in crate::aws) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    pub(in crate::aws) async fn post(&self, path: &str) -> Result<Answer> {
        let request = Request::builder().method(Method::POST).uri(path);
        self.send(request.body(Bytes::new())?, true).await
    }

    pub(in crate::aws) async fn forward(&self, query: &Query) -> Result<Answer> {
        let mut request = Request::new(query.body.clone());
        *request.method_mut() = query.method.clone();
        *request.uri_mut() = query.uri.clone();
        *request.headers_mut() = query.headers.clone();
        self.send(request, !query.action.starts_with("Describe")).await
    }

    async fn send(&self, mut request: Request<Bytes>, changes: bool) -> Result<Answer> {
        drop_connection_headers(request.headers_mut());
        let host = HeaderValue::try_from(self.address.to_string())?;
        request.headers_mut().insert(HOST, host);

        let _turn = self.gate.lock().await;
        // moto closes every connection after one answer, so there is nothing to pool.
        let stream = TcpStream::connect(self.address).await.context("moto is gone")?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let exchange = async move {
            let response = sender.send_request(request.map(Full::new)).await?;
            let (head, body) = response.into_parts();
            anyhow::Ok((head, body.collect().await?.to_bytes()))
        };
        // The connection ends by itself, before or after the answer: only the answer counts.
        let (answer, _end) = futures::join!(exchange, connection);
        self.changes.fetch_add(u64::from(changes), Ordering::SeqCst);
        let (mut head, body) = answer?;
        drop_connection_headers(&mut head.headers);
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}

/// What describes the other connection must not be repeated on ours.
fn drop_connection_headers(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, HOST] {
        headers.remove(name);
    }
}

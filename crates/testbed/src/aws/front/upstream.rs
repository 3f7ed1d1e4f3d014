//! Requests to moto go one at a time: its threads share unguarded dictionaries, so parallel calls now and then end in
//! a Python traceback, and its interpreter lock makes them no slower this way. All fronts of one moto share the gate.
//! What a bare moto has described is remembered until the next call that may change something: it changes nothing by
//! itself, and its answers take much of the CPU of the crash suites.

use std::collections::HashMap;
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

/// By credential scope with URI, and body. `None` if nothing is remembered: from the start of a change until it is
/// answered, or always.
type Answers = Option<HashMap<(String, Bytes), Answer>>;

#[derive(Clone, Debug)]
pub(in crate::aws) struct Upstream {
    address: SocketAddr,
    gate: Arc<Mutex<Answers>>,
    changes: Arc<AtomicU64>,
    remembers: bool,
}

impl Upstream {
    /// `remembers`: all calls are made through this.
    pub(in crate::aws) fn new(address: SocketAddr, remembers: bool) -> Self {
        Self { address, gate: Arc::default(), changes: Arc::default(), remembers }
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
        self.change(request.body(Bytes::new())?).await
    }

    pub(in crate::aws) async fn forward(&self, query: &Query) -> Result<Answer> {
        let mut request = Request::new(query.body.clone());
        *request.method_mut() = query.method.clone();
        *request.uri_mut() = query.uri.clone();
        *request.headers_mut() = query.headers.clone();
        if !query.action.starts_with("Describe") {
            return self.change(request).await;
        }
        let mut answers = self.gate.lock().await;
        let Query { access_key_id, region, service, uri, body, .. } = query;
        let key = (format!("{access_key_id}/{region}/{service} {uri}"), body.clone());
        if let Some(known) = answers.as_ref().and_then(|answers| answers.get(&key)) {
            return Ok(known.clone());
        }
        let answer = self.send(request).await?;
        if let (Some(answers), true) = (&mut *answers, answer.status.is_success()) {
            answers.insert(key, answer.clone());
        }
        Ok(answer)
    }

    async fn change(&self, request: Request<Bytes>) -> Result<Answer> {
        let mut answers = self.gate.lock().await;
        *answers = None;
        let answer = self.send(request).await;
        *answers = self.remembers.then(HashMap::new);
        self.changes.fetch_add(1, Ordering::SeqCst);
        answer
    }

    async fn send(&self, mut request: Request<Bytes>) -> Result<Answer> {
        drop_connection_headers(request.headers_mut());
        let host = HeaderValue::try_from(self.address.to_string())?;
        request.headers_mut().insert(HOST, host);

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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http::Response;
    use tokio::net::TcpListener;
    use tokio_util::task::AbortOnDropHandle;

    use super::*;
    use crate::http::serve;

    #[tokio::test]
    async fn what_is_described_twice_is_asked_once_until_something_may_have_changed() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let upstream = Upstream::new(listener.local_addr().unwrap(), true);
        let asked = Arc::<AtomicU64>::default();
        let count = Arc::clone(&asked);
        let serving = serve(listener, move |_: Request<_>| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            async move { Response::new(Full::new(Bytes::from(number.to_string()))) }
        });
        let _serving = AbortOnDropHandle::new(tokio::spawn(serving));
        let ask = async |region: &str, action: &str, id: &str| {
            let scope = ["AKIA", region];
            let query = Query::question(scope, ["ec2", "1"], action, &[("InstanceId.1", id)]);
            upstream.forward(&query).await.unwrap().body
        };
        assert_eq!(ask("r", "CreateTags", "i-1").await, "0");
        for _ in 0..2 {
            assert_eq!(ask("r", "DescribeInstances", "i-1").await, "1");
            assert_eq!(ask("r", "DescribeInstances", "i-2").await, "2");
            assert_eq!(ask("other", "DescribeInstances", "i-1").await, "3");
        }
        assert_eq!(ask("r", "CreateTags", "i-1").await, "4");
        assert_eq!(ask("r", "DescribeInstances", "i-1").await, "5");
        upstream.post("/moto-api/reset").await.unwrap();
        assert_eq!(ask("r", "DescribeInstances", "i-1").await, "7");
        assert_eq!(upstream.changes(), 3);
    }
}

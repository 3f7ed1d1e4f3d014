//! A local stand-in for EC2's instance metadata service, version 2, as far as spot instances ask it: 401 without a
//! valid token, 403 to a forwarded request, 404 for a notice until a test announces it.

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http::serve;

pub const TOKEN: &str = "/latest/api/token";
pub const INSTANCE_ACTION: &str = "/latest/meta-data/spot/instance-action";
pub const TERMINATION_TIME: &str = "/latest/meta-data/spot/termination-time";
pub const REBALANCE: &str = "/latest/meta-data/events/recommendations/rebalance";

const TOKEN_HEADER: &str = "x-aws-ec2-metadata-token";
const TTL_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const LONGEST_TTL: u64 = 21_600;

/// Dropping it ends it.
#[derive(Debug)]
pub struct Imds {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    server: JoinHandle<()>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub method: Method,
    pub path: String,
    pub status: u16,
}

#[derive(Debug, Default)]
struct State {
    items: HashMap<String, Bytes>,
    tokens: HashMap<String, Instant>,
    /// Shorter than asked for.
    longest_ttl: Option<u64>,
    failures: VecDeque<u16>,
    asked: Vec<Asked>,
}

impl Imds {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::<Mutex<State>>::default();
        let answering = state.clone();
        let server = tokio::spawn(serve(listener, move |request| {
            std::future::ready(answering.lock().answer(&request))
        }));
        Ok(Self { address, state, server })
    }

    /// What `--imds-endpoint` takes.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Announces `terminate`, `stop` or `hibernate`.
    pub fn announce(&self, action: &str, time: &str) {
        self.publish(INSTANCE_ACTION, format!(r#"{{"action": "{action}", "time": "{time}"}}"#));
        if action == "terminate" {
            self.publish(TERMINATION_TIME, time.to_owned());
        }
    }

    pub fn recommend_rebalance(&self, time: &str) {
        self.publish(REBALANCE, format!(r#"{{"noticeTime": "{time}"}}"#));
    }

    pub fn publish(&self, path: &str, body: impl Into<Bytes>) {
        self.state.lock().items.insert(path.to_owned(), body.into());
    }

    /// The answer is 404 again.
    pub fn withdraw(&self, path: &str) {
        self.state.lock().items.remove(path);
    }

    /// The answers to the next questions, whatever they are.
    pub fn fail(&self, codes: &[u16]) {
        self.state.lock().failures.extend(codes);
    }

    pub fn shorten_tokens(&self, ttl: Duration) {
        self.state.lock().longest_ttl = Some(ttl.as_secs().max(1));
    }

    pub fn forget_tokens(&self) {
        self.state.lock().tokens.clear();
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state.lock().asked.clone()
    }

    pub fn count(&self, path: &str, status: u16) -> usize {
        let state = self.state.lock();
        state.asked.iter().filter(|asked| asked.path == path && asked.status == status).count()
    }
}

impl Drop for Imds {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl State {
    fn answer(&mut self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (method, path) = (request.method(), request.uri().path());
        let response = match self.failures.pop_front() {
            Some(code) => {
                let status = StatusCode::from_u16(code);
                empty(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
            }
            None => self.well(method, path, request.headers()),
        };
        let status = response.status().as_u16();
        self.asked.push(Asked { method: method.clone(), path: path.to_owned(), status });
        response
    }

    /// As the service answers when nothing is wrong with it.
    fn well(&mut self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        match (method, path) {
            (&Method::PUT, TOKEN) => self.grant(headers),
            (_, TOKEN) => empty(StatusCode::METHOD_NOT_ALLOWED),
            _ if !self.knows(headers) => empty(StatusCode::UNAUTHORIZED),
            (&Method::GET, path) => match self.items.get(path) {
                Some(body) => Response::new(Full::new(body.clone())),
                None => empty(StatusCode::NOT_FOUND),
            },
            _ => empty(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let token = headers.get(TOKEN_HEADER).and_then(|token| token.to_str().ok());
        let end = token.and_then(|token| self.tokens.get(token));
        end.is_some_and(|end| Instant::now() < *end)
    }

    fn grant(&mut self, headers: &HeaderMap) -> Response<Full<Bytes>> {
        if headers.contains_key("x-forwarded-for") {
            return empty(StatusCode::FORBIDDEN);
        }
        let wanted = headers.get(TTL_HEADER).and_then(|ttl| ttl.to_str().ok()?.parse().ok());
        let Some(wanted @ 1..=LONGEST_TTL) = wanted else {
            return empty(StatusCode::BAD_REQUEST);
        };
        let ttl = self.longest_ttl.map_or(wanted, |longest| wanted.min(longest));
        let token = format!("AQAEA{:016x}{:016x}==", fastrand::u64(..), fastrand::u64(..));
        self.tokens.insert(token.clone(), Instant::now() + Duration::from_secs(ttl));
        let mut response = Response::new(Full::new(token.into()));
        response.headers_mut().insert(TTL_HEADER, ttl.into());
        response
    }
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn ask(
        state: &mut State,
        method: &Method,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        state.well(method, path, &map).status().as_u16()
    }

    #[test]
    fn nothing_is_told_without_a_token_and_nothing_before_it_is_announced() {
        let mut state = State::default();
        let token = (TTL_HEADER, "21600");
        for (headers, status) in [
            (&[token][..], 200),
            (&[], 400),
            (&[(TTL_HEADER, "0")], 400),
            (&[(TTL_HEADER, "21601")], 400),
            (&[token, ("x-forwarded-for", "10.0.0.1")], 403),
        ] {
            assert_eq!(ask(&mut state, &Method::PUT, TOKEN, headers), status, "{headers:?}");
        }
        let token = state.tokens.keys().next().unwrap().clone();
        let known = [(TOKEN_HEADER, token.as_str())];
        assert_eq!(ask(&mut state, &Method::GET, REBALANCE, &[]), 401);
        assert_eq!(ask(&mut state, &Method::GET, REBALANCE, &[(TOKEN_HEADER, "guessed")]), 401);
        assert_eq!(ask(&mut state, &Method::GET, REBALANCE, &known), 404);
        state.items.insert(REBALANCE.to_owned(), Bytes::new());
        assert_eq!(ask(&mut state, &Method::GET, REBALANCE, &known), 200);
        state.tokens.insert(token.clone(), Instant::now());
        assert_eq!(ask(&mut state, &Method::GET, REBALANCE, &known), 401, "it has ended");
    }
}

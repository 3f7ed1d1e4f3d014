//! Client of the instance metadata service, version 2, with a token that is renewed before it expires. The service is
//! not trusted: responses are limited in size and time, redirects are not followed, tokens are never logged. 404 means
//! "no notice"; every other status but 200 is an error.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use machinist_domain::conditions::Condition;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::user_agent::UserAgent;

use super::{PARTY, messages, notice};

const TOKEN: &str = "/latest/api/token";
const INSTANCE_ACTION: &str = "/latest/meta-data/spot/instance-action";
const TERMINATION_TIME: &str = "/latest/meta-data/spot/termination-time";
const REBALANCE: &str = "/latest/meta-data/events/recommendations/rebalance";

const TOKEN_HEADER: &str = "x-aws-ec2-metadata-token";
const TTL_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";

const TTL: u32 = 21_600;
const LONGEST: usize = 4096;
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Imds {
    client: Client<HttpConnector, Empty<Bytes>>,
    endpoint: String,
    clock: SharedClock,
    token: Option<Token>,
}

/// The value is marked as sensitive, so that Debug does not print it.
#[derive(Debug)]
struct Token {
    value: HeaderValue,
    renew_at: Duration,
}

type Answer = Response<Bytes>;

impl Imds {
    pub(super) fn new(endpoint: String, clock: SharedClock) -> Self {
        let client = Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        Self { client, endpoint, clock, token: None }
    }

    /// The interruption notice, from either of two paths. A failure of one does not hide the other.
    pub(super) async fn termination(&mut self) -> Result<Option<Condition>> {
        let action = self.notice(INSTANCE_ACTION, notice::instance_action).await;
        if let Ok(Some(_)) = action {
            return action;
        }
        let time = self.get(TERMINATION_TIME).await;
        match time.map(|answer| answer.and_then(|answer| notice::termination_time(&answer))) {
            Ok(None) => action,
            Ok(found) => Ok(found),
            Err(error) => action.and(Err(error)),
        }
    }

    pub(super) async fn rebalance(&mut self) -> Result<Option<Condition>> {
        self.notice(REBALANCE, notice::rebalance).await
    }

    async fn notice(
        &mut self,
        path: &str,
        parse: fn(&[u8]) -> Result<Condition, serde_json::Error>,
    ) -> Result<Option<Condition>> {
        let answer = self.get(path).await?;
        let notice = answer.map(|answer| parse(&answer)).transpose();
        notice.with_context(|| messages::unparsable(path))
    }

    async fn get(&mut self, path: &str) -> Result<Option<Bytes>> {
        let mut answer = self.get_with_token(path).await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            // The service may revoke tokens early, for example when the instance was stopped.
            self.token = None;
            answer = self.get_with_token(path).await?;
        }
        match answer.status() {
            StatusCode::OK => Ok(Some(answer.into_body())),
            StatusCode::NOT_FOUND => Ok(None),
            status => bail!(messages::bad_status(path, status)),
        }
    }

    async fn get_with_token(&mut self, path: &str) -> Result<Answer> {
        let token = match &self.token {
            Some(token) if self.clock.uptime() < token.renew_at => token.value.clone(),
            _ => self.renew_token().await?,
        };
        self.send(Method::GET, path, (TOKEN_HEADER, token)).await
    }

    async fn renew_token(&mut self) -> Result<HeaderValue> {
        let asked_at = self.clock.uptime();
        let answer = self.send(Method::PUT, TOKEN, (TTL_HEADER, TTL.into())).await?;
        let status = answer.status();
        ensure!(status == StatusCode::OK, messages::bad_status(TOKEN, status));
        let token = Token::read(&answer, asked_at).context(messages::INVALID_TOKEN)?;
        Ok(self.token.insert(token).value.clone())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        (name, value): (&str, HeaderValue),
    ) -> Result<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint))
            .header(USER_AGENT, UserAgent::of(PARTY).header())
            .header(name, value)
            .body(Empty::new())
            .context(messages::INVALID_REQUEST)?;
        let no_response = || messages::no_response(path);
        let exchange = async {
            let response = self.client.request(request).await.with_context(no_response)?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, LONGEST).collect().await.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    anyhow!(messages::too_long(path, LONGEST))
                } else {
                    anyhow!(error).context(no_response())
                }
            })?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        let answer = tokio::time::timeout(TIMEOUT, exchange).await;
        answer.unwrap_or_else(|_| bail!(messages::timed_out(path, TIMEOUT)))
    }
}

impl Token {
    fn read(answer: &Answer, asked_at: Duration) -> Result<Self> {
        let granted = answer.headers().get(TTL_HEADER).and_then(|value| value.to_str().ok());
        let granted: Option<u32> = granted.and_then(|seconds| seconds.trim().parse().ok());
        let granted = granted.context(messages::NO_TTL)?;
        let text = answer.body().trim_ascii();
        ensure!(!text.is_empty(), messages::EMPTY);
        // The error of the conversion has no more to say, and must not have the token.
        let value = HeaderValue::from_bytes(text);
        let mut value = value.map_err(|_| anyhow!(messages::NOT_A_HEADER))?;
        value.set_sensitive(true);
        // At half time, so that no request in flight has an expired token.
        let half = Duration::from_secs(granted.min(TTL).into()) / 2;
        Ok(Self { value, renew_at: asked_at + half })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(ttl: Option<&'static str>, body: &'static [u8]) -> Result<Token> {
        let mut answer = Response::new(Bytes::from_static(body));
        if let Some(ttl) = ttl {
            answer.headers_mut().insert(TTL_HEADER, HeaderValue::from_static(ttl));
        }
        Token::read(&answer, Duration::from_secs(100))
    }

    #[test]
    fn tokens_are_renewed_early_and_never_printed() {
        let good = token(Some("10"), b"c2VjcmV0\n").unwrap();
        assert_eq!(good.renew_at, Duration::from_secs(105));
        assert_eq!(good.value.as_bytes(), b"c2VjcmV0");
        assert!(!format!("{good:?}").contains("c2VjcmV0"));
        let boastful = token(Some("4000000000"), b"x").unwrap();
        assert!(boastful.renew_at < Duration::from_secs(100 + u64::from(TTL)));
    }

    #[test]
    fn invalid_tokens_are_errors() {
        for (ttl, body) in [
            (None, &b"x"[..]),
            (Some("-1"), b"x"),
            (Some("soon"), b"x"),
            (Some("99999999999"), b"x"),
            (Some("60"), b""),
            (Some("60"), b"a\r\nHost: b"),
            (Some("60"), b"\x00"),
        ] {
            assert!(token(ttl, body).is_err(), "{ttl:?} {body:?}");
        }
    }
    /// The body, and the header with the time to live.
    #[test]
    fn fuzz_tokens_of_the_metadata_service() -> anyhow::Result<()> {
        machinist_testbed::fuzz::feed(&["21600", "c2VjcmV0\n"], |bytes| {
            let mut answer = Response::new(Bytes::copy_from_slice(bytes));
            let header = HeaderValue::from_bytes(bytes);
            answer.headers_mut().insert(TTL_HEADER, header.unwrap_or(TTL.into()));
            if let Ok(token) = Token::read(&answer, Duration::MAX / 2) {
                machinist_testbed::fuzz::done(format!("{token:?}"));
            }
        })
    }
}

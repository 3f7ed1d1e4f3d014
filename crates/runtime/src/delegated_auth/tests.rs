use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http::Response;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::clock::{Clock, ManualClock};
use crate::cluster::Cluster;
use crate::timings::Timings;
use crate::user_agent::UserAgent;

/// An API server that accepts the tokens `scraper`, `stranger` and `denied`, and knows the owner of `revoked`.
#[derive(Default)]
struct Api {
    requests: AtomicU32,
    is_down: AtomicBool,
    is_silent: AtomicBool,
}

impl Api {
    fn answer(&self, question: &Value) -> (u16, Value) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if self.is_down.load(Ordering::Relaxed) {
            return (503, json!({"reason": "ServiceUnavailable", "message": "etcd", "code": 503}));
        }
        let spec = &question["spec"];
        let status = if question["kind"] == "TokenReview" {
            match spec["token"].as_str() {
                Some(name @ ("scraper" | "stranger" | "denied")) => json!({
                    "authenticated": true,
                    "user": {"username": name, "uid": "u", "groups": ["g"], "extra": {"e": ["x"]}},
                }),
                Some("revoked") => json!({"user": {"username": "scraper", "uid": "u"}}),
                _ => json!({"error": "[invalid bearer token]"}),
            }
        } else {
            let path = json!({"path": "/metrics", "verb": "get"});
            assert_eq!(spec["nonResourceAttributes"], path);
            assert_eq!((&spec["groups"], &spec["extra"]), (&json!(["g"]), &json!({"e": ["x"]})));
            assert_eq!(spec["uid"], "u");
            // One authorizer allows it, another one denies it.
            let denied = spec["user"] == "denied";
            json!({"allowed": denied || spec["user"] == "scraper", "denied": denied})
        };
        (201, json!({"kind": question["kind"], "spec": spec, "status": status}))
    }

    fn requests(&self) -> u32 {
        self.requests.swap(0, Ordering::Relaxed)
    }
}

struct Fixture {
    api: Arc<Api>,
    clock: Arc<ManualClock>,
    auth: Arc<DelegatedAuth>,
    routes: Router,
}

fn fixture() -> Fixture {
    let (api, clock) = (Arc::<Api>::default(), Arc::<ManualClock>::default());
    let server = Arc::clone(&api);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let server = Arc::clone(&server);
        async move {
            if server.is_silent.load(Ordering::Relaxed) {
                server.requests.fetch_add(1, Ordering::Relaxed);
                return std::future::pending().await;
            }
            let body = request.into_body().collect().await.expect("a body").to_bytes();
            let (code, answer) = server.answer(&serde_json::from_slice(&body).expect("JSON"));
            let answer = Body::from(answer.to_string());
            Ok::<_, Infallible>(Response::builder().status(code).body(answer).expect("a response"))
        }
    });
    let timings = Timings::default();
    let cluster = Cluster::played_by(kube::Client::new(service, "default"), &timings);
    let session = cluster.session(UserAgent::METRICS);
    let auth = DelegatedAuth::new(session, "/metrics", clock.clone(), timings.server);
    let auth = Arc::new(auth);
    let routes = Router::new().route("/metrics", get(|| async { "42" }));
    let routes = routes.layer(from_fn_with_state(auth.clone(), require));
    Fixture { api, clock, auth, routes }
}

impl Fixture {
    async fn get(&self, path: &str, authorization: Option<&str>) -> (u16, String) {
        let mut request = http::Request::get(path);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = self.routes.clone().oneshot(request).await.unwrap();
        let challenged = response.headers().contains_key(WWW_AUTHENTICATE);
        let code = response.status().as_u16();
        assert_eq!(challenged, code == 401);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }
}

#[tokio::test]
async fn only_an_allowed_user_gets_the_metrics() {
    let fixture = fixture();
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await, (200, "42".to_owned()));
    assert_eq!(fixture.get("/metrics", Some("bearer  scraper")).await.0, 200);
    let (code, body) = fixture.get("/metrics", Some("Bearer stranger")).await;
    assert!(code == 403 && body.contains("user stranger may not get /metrics"), "{code}: {body}");
    assert_eq!(fixture.get("/metrics", Some("Bearer denied")).await.0, 403);
    assert_eq!(fixture.get("/metrics", Some("Bearer invented")).await.0, 401);
    assert_eq!(fixture.get("/metrics", Some("Bearer revoked")).await.0, 401);
    assert_eq!(fixture.get("/unknown", Some("Bearer invented")).await.0, 401);
    assert_eq!(fixture.get("/unknown", Some("Bearer scraper")).await.0, 404);
}

#[tokio::test]
async fn request_without_a_token_is_refused_without_a_review() {
    let fixture = fixture();
    for value in
        [None, Some("Bearer"), Some("Bearer  "), Some("Basic c2NyYXBlcg=="), Some("scraper")]
    {
        assert_eq!(fixture.get("/metrics", value).await.0, 401, "{value:?}");
    }
    assert_eq!(fixture.api.requests(), 0);
}

#[tokio::test]
async fn reviews_are_used_again_for_a_while() {
    let fixture = fixture();
    let ttl = Timings::default().server.review_ttl;
    for (token, code, reviews) in [("scraper", 200, 2), ("stranger", 403, 2)] {
        let value = format!("Bearer {token}");
        for expected in [reviews, 0] {
            assert_eq!(fixture.get("/metrics", Some(&value)).await.0, code);
            assert_eq!(fixture.api.requests(), expected, "{token}");
        }
    }
    fixture.clock.advance(ttl);
    for (token, code) in [("scraper", 200), ("stranger", 403)] {
        assert_eq!(fixture.get("/metrics", Some(&format!("Bearer {token}"))).await.0, code);
        assert_eq!(fixture.api.requests(), 2, "{token}");
    }
}

/// More of them than are sent at once.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_hangs_is_not_waited_for() {
    let fixture = fixture();
    fixture.api.is_silent.store(true, Ordering::Relaxed);
    let (start, limit) = (tokio::time::Instant::now(), Timings::default().server.review);
    let tokens = (0..3 * MAX_CONCURRENT_REVIEWS).map(|number| format!("Bearer token-{number}"));
    let answers = tokens.map(|token| {
        let fixture = &fixture;
        async move { fixture.get("/metrics", Some(&token)).await.0 }
    });
    let mut answers = std::pin::pin!(futures::future::join_all(answers));
    assert!(tokio::time::timeout(limit / 2, answers.as_mut()).await.is_err());
    assert_eq!(usize::try_from(fixture.api.requests()).unwrap(), MAX_CONCURRENT_REVIEWS);
    let answers = answers.await;
    assert!(answers.iter().all(|code| *code == 503), "{answers:?}");
    assert!(start.elapsed() < limit + limit / 10, "{:?}", start.elapsed());
}

/// Keeps what is logged, with all fields.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

impl tracing::Subscriber for Logged {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut self.clone());
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

impl tracing::field::Visit for Logged {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let mut text = self.0.lock();
        text.extend([field.name(), "=", &format!("{value:?}"), " "]);
    }
}

#[tokio::test]
async fn no_token_is_logged_whatever_the_answer() {
    let logged = Logged::default();
    let guard = tracing::subscriber::set_default(logged.clone());
    let fixture = fixture();
    for down in [false, true] {
        fixture.api.is_down.store(down, Ordering::Relaxed);
        fixture.clock.advance(Duration::from_secs(3600));
        for token in ["scraper", "stranger", "t0ken-unknown"] {
            fixture.get("/metrics", Some(&format!("Bearer {token}"))).await;
        }
    }
    drop(guard);
    let logged = logged.0.lock();
    assert!(logged.contains("etcd"), "the failed review is logged: {logged}");
    for token in ["scraper", "stranger", "t0ken"] {
        assert!(!logged.contains(token), "{logged}");
    }
}

#[tokio::test]
async fn without_an_answer_nobody_gets_the_metrics() {
    let fixture = fixture();
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200);
    fixture.api.is_down.store(true, Ordering::Relaxed);
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200, "it is remembered");
    fixture.clock.advance(Duration::from_secs(3600));
    let (code, body) = fixture.get("/metrics", Some("Bearer scraper")).await;
    assert!(code == 503 && !body.contains("etcd"), "details are in the log: {code}: {body}");
    fixture.api.is_down.store(false, Ordering::Relaxed);
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200);
}

#[tokio::test]
async fn decisions_are_few_and_without_tokens() {
    let fixture = fixture();
    for number in 0..2 * MAX_DECISIONS {
        let hash = Sha256::digest(number.to_string()).into();
        fixture.auth.remember(hash, &Decision::Allowed);
    }
    let count = || fixture.auth.decisions.lock().live(fixture.clock.uptime()).count();
    assert_eq!(count(), MAX_DECISIONS);
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200, "but not remembered");
    fixture.clock.advance(Duration::from_secs(3600));
    assert_eq!(fixture.get("/metrics", Some("Bearer invented")).await.0, 401);
    assert_eq!(count(), 0, "a rejected token is not remembered");
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200);
    assert_eq!(count(), 1);
    let shown = format!("{:?}", fixture.auth);
    assert!(!shown.contains("scraper"), "{shown}");
}

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

/// An API server that knows the tokens `scraper` and `stranger`.
#[derive(Default)]
struct Api {
    requests: AtomicU32,
    is_down: AtomicBool,
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
                Some(name @ ("scraper" | "stranger")) => json!({
                    "authenticated": true,
                    "user": {"username": name, "groups": ["g"], "extra": {"e": ["x"]}},
                }),
                _ => json!({"error": "[invalid bearer token]"}),
            }
        } else {
            let path = json!({"path": "/metrics", "verb": "get"});
            assert_eq!(spec["nonResourceAttributes"], path);
            assert_eq!((&spec["groups"], &spec["extra"]), (&json!(["g"]), &json!({"e": ["x"]})));
            json!({"allowed": spec["user"] == "scraper"})
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
    assert_eq!(fixture.get("/metrics", Some("Bearer invented")).await.0, 401);
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
    assert_eq!(fixture.get("/metrics", Some("Bearer scraper")).await.0, 200);
    assert_eq!(fixture.api.requests(), 2);
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

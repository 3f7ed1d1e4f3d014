//! The HTTP API.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use machinist_provider_sim::server::{SimCloud, SimServer};
use serde_json::{Value, json};

struct Caller {
    cloud: SimCloud,
    server: SimServer,
}

impl Caller {
    async fn new() -> Self {
        let cloud = SimCloud::new(1, 1.0);
        let server = SimServer::start(&cloud).await.unwrap();
        Self { cloud, server }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let request = Request::builder().method(method).uri(format!("{}{path}", self.server.url()));
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let response = client.request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }
}

fn request() -> Value {
    json!({
        "metadata": { "name": "a.b" }, "token": "t", "region": "sim-1", "zone": "a",
        "instanceType": "sim.small", "rootVolumeGib": 1, "bootSeconds": 0, "stopSeconds": 0,
        "tags": { "x": "y" },
    })
}

#[tokio::test]
async fn token_identifies_one_request() {
    let caller = Caller::new().await;
    let (status, first) = caller.call(Method::POST, "/v1/instances", &request()).await;
    assert_eq!(status, 201);
    let (status, second) = caller.call(Method::POST, "/v1/instances", &request()).await;
    assert_eq!((status, &second["id"]), (200, &first["id"]));
    let mut other = request();
    other["zone"] = "b".into();
    let (status, refusal) = caller.call(Method::POST, "/v1/instances", &other).await;
    assert_eq!((status, &refusal["code"]), (409, &json!("TokenMismatch")));
    assert_eq!(caller.cloud.created(), 1);
    assert_eq!(caller.cloud.calls()["create"], 3);
    let made = caller.cloud.instances().remove(0);
    assert_eq!((made.token.as_str(), made.tags["x"].as_str()), ("t", "y"));
}

#[tokio::test]
async fn invalid_requests_are_refused_with_a_reason() {
    let caller = Caller::new().await;
    let mut unknown_type = request();
    unknown_type["instanceType"] = "m5.large".into();
    let cases = [
        (Method::POST, "/v1/instances", json!({}), 400, "InvalidParameter"),
        (Method::POST, "/v1/instances", unknown_type, 400, "InvalidParameter"),
        (Method::GET, "/v1/instances?continue=x", json!({}), 400, "InvalidParameter"),
        (Method::GET, "/v1/instances?colour=blue", json!({}), 400, "InvalidParameter"),
        (Method::GET, "/v1/instances/i-1", json!({}), 404, "NotFound"),
        (Method::DELETE, "/v1/instances/i-1", json!({}), 404, "NotFound"),
        (Method::DELETE, "/v1/volumes/i-1-data", json!({}), 404, "NotFound"),
        (Method::GET, "/v2/instances", json!({}), 404, "NotFound"),
        (Method::PUT, "/v1/modes", json!({ "fullZone": ["a"] }), 400, "InvalidParameter"),
    ];
    for (method, path, body, status, code) in cases {
        let (found, refusal) = caller.call(method.clone(), path, &body).await;
        assert_eq!((found, &refusal["code"]), (status, &json!(code)), "{method} {path}");
    }
}

#[tokio::test]
async fn modes_can_be_set_from_outside() {
    let caller = Caller::new().await;
    let (_, mut modes) = caller.call(Method::GET, "/v1/modes", &json!({})).await;
    modes["trouble"] = "Unavailable".into();
    assert_eq!(caller.call(Method::PUT, "/v1/modes", &modes).await.0, 200);
    assert_eq!(caller.call(Method::POST, "/v1/instances", &request()).await.0, 503);
    assert_eq!(caller.call(Method::PUT, "/v1/modes", &json!({ "fullZones": ["a"] })).await.0, 200);
    let (_, refusal) = caller.call(Method::POST, "/v1/instances", &request()).await;
    assert_eq!(refusal["code"], "InsufficientCapacity");
    assert_eq!(caller.cloud.created(), 0);
}

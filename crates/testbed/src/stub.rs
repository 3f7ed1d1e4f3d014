//! An API server for unit tests: it has the objects that a test puts there, without lists, watches and validation.
//! What a controller does is tested on a real one; this is for what it keeps in memory.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::http::serve;

/// Dropping it ends it.
#[derive(Debug)]
pub struct StubApi {
    address: SocketAddr,
    objects: Objects,
    _serving: AbortOnDropHandle<()>,
}

/// By path.
type Objects = Arc<Mutex<BTreeMap<String, Value>>>;

impl StubApi {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, objects) = (listener.local_addr()?, Objects::default());
        let all = Arc::clone(&objects);
        let serving = tokio::spawn(serve(listener, move |request| answer(all.clone(), request)));
        Ok(Self { address, objects, _serving: AbortOnDropHandle::new(serving) })
    }

    pub fn config(&self) -> Result<kube::Config> {
        Ok(kube::Config::new(format!("http://{}", self.address).parse()?))
    }

    pub fn put(&self, path: &str, object: Value) {
        self.objects.lock().insert(path.to_owned(), object);
    }

    pub fn remove(&self, path: &str) {
        self.objects.lock().remove(path);
    }
}

async fn answer(objects: Objects, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let path = head.uri.path();
    let path = path.strip_suffix("/status").unwrap_or(path);
    let mut objects = objects.lock();
    let Some(object) = objects.get_mut(path) else {
        let status = json!({"kind": "Status", "reason": "NotFound", "code": 404});
        return response(StatusCode::NOT_FOUND, &status);
    };
    match head.method {
        Method::GET => response(StatusCode::OK, object),
        Method::PATCH => match patched(object, &body) {
            Ok(()) => response(StatusCode::OK, object),
            Err(error) => response(StatusCode::BAD_REQUEST, &json!(format!("{error:#}"))),
        },
        _ => response(StatusCode::METHOD_NOT_ALLOWED, &Value::Null),
    }
}

fn patched(object: &mut Value, patch: &[u8]) -> Result<()> {
    let version = object["metadata"]["resourceVersion"].as_str().context("no resourceVersion")?;
    let next = version.parse::<u64>()? + 1;
    merge(object, serde_json::from_slice(patch)?);
    object["metadata"]["resourceVersion"] = json!(next.to_string());
    Ok(())
}

/// RFC 7396.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            if let Some(fields) = target.as_object_mut() {
                fields.remove(&name);
            }
        } else {
            merge(&mut target[name], value);
        }
    }
}

fn response(code: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.to_string().into()));
    *response.status_mut() = code;
    response
}

//! The limit: a bare client with the same TLS and HTTP stack as machinist, which waits for every answer. It keeps no
//! cache and watches nothing, so what those cost machinist is part of the ratio.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use machinist_api::resource::MACHINES;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::task::JoinSet;

pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Bytes,
}

impl Outgoing {
    pub(crate) fn get(path: String) -> Self {
        Self::new(Method::GET, path, "application/json", Bytes::new())
    }

    pub(crate) fn delete(path: String) -> Self {
        Self::new(Method::DELETE, path, "application/json", Bytes::new())
    }

    pub(crate) fn create(path: String, body: &serde_json::Value) -> Self {
        Self::new(Method::POST, path, "application/json", body.to_string().into())
    }

    pub(crate) fn merge_patch(path: String, body: &serde_json::Value) -> Self {
        Self::new(Method::PATCH, path, MERGE_PATCH, body.to_string().into())
    }

    pub(crate) fn new(
        method: Method,
        path: String,
        content_type: &'static str,
        body: Bytes,
    ) -> Self {
        Self { method, path, content_type, body }
    }
}

#[derive(Clone)]
pub(crate) struct Bare {
    client: Client,
    party: &'static str,
}

impl std::fmt::Debug for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client holds credentials.
        f.debug_struct("Bare").field("party", &self.party).finish_non_exhaustive()
    }
}

impl Bare {
    pub(crate) fn new(mut config: kube::Config, party: &'static str) -> Result<Self> {
        // A request that has to be repeated would be two requests in one measurement.
        config.default_retry = false;
        let client = Client::try_from(config)?;
        Ok(Self { client, party })
    }

    /// Reads the whole answer.
    pub(crate) async fn send(&self, outgoing: Outgoing) -> Result<Bytes> {
        let Outgoing { method, path, content_type, body } = outgoing;
        let asked = format!("{method} {path}");
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(USER_AGENT, self.party)
            .header(CONTENT_TYPE, content_type)
            .body(Body::from(body))?;
        let response = self.client.send(request).await.with_context(|| asked.clone())?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(
            status.is_success(),
            "{asked} was answered {status}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }

    pub(crate) async fn list<T: DeserializeOwned>(&self, path: String) -> Result<Vec<T>> {
        #[derive(Deserialize)]
        struct List<T> {
            items: Vec<T>,
        }
        let answer = self.send(Outgoing::get(path)).await?;
        let list: List<T> = serde_json::from_slice(&answer).context("not a list")?;
        Ok(list.items)
    }

    pub(crate) async fn create_namespace(&self, name: &str) -> Result<()> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.send(Outgoing::create("/api/v1/namespaces".to_owned(), &body)).await?;
        Ok(())
    }

    pub(crate) async fn machine_phases(&self) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        struct Machine {
            #[serde(default)]
            status: Status,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Status {
            phase: String,
        }
        let all: Vec<Machine> = self.list(MACHINES.collection_path(None)).await?;
        Ok(all.into_iter().map(|machine| machine.status.phase).collect())
    }

    /// The answers come in no particular order.
    pub(crate) async fn send_all(
        &self,
        requests: Vec<Outgoing>,
        concurrency: usize,
    ) -> Result<Vec<Bytes>> {
        let waiting = Arc::new(Mutex::new(VecDeque::from(requests)));
        let mut workers = JoinSet::new();
        for _ in 0..concurrency {
            let (bare, waiting) = (self.clone(), Arc::clone(&waiting));
            workers.spawn(async move {
                let mut answers = Vec::new();
                while let Some(request) = next(&waiting) {
                    answers.push(bare.send(request).await?);
                }
                anyhow::Ok(answers)
            });
        }
        let mut all = Vec::new();
        while let Some(answers) = workers.join_next().await {
            all.extend(answers??);
        }
        Ok(all)
    }

    pub(crate) async fn warm_up(&self, concurrency: usize) -> Result<()> {
        let requests = vec![Outgoing::get("/readyz".to_owned()); concurrency * 4];
        self.send_all(requests, concurrency).await?;
        Ok(())
    }
}

fn next(waiting: &Mutex<VecDeque<Outgoing>>) -> Option<Outgoing> {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.pop_front()
}

//! An API server that knows EventRecyclers.

use std::time::Duration;

use anyhow::{Context, Result};
use http::{Method, Request};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use machinist_api::resource::EVENT_RECYCLERS;
use machinist_control_plane::ControlPlane;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const OLD: &str = "v1alpha1";
pub(crate) const NEW: &str = "v1beta1";

pub(crate) fn definition() -> CustomResourceDefinition {
    let mut all = machinist_api::crds().into_iter();
    all.find(|crd| crd.spec.group == EVENT_RECYCLERS.group).expect("no definition")
}

/// A client of it.
pub(crate) struct Server(Client);

impl Server {
    /// The one that all tests share.
    pub(crate) async fn get() -> Result<Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let started = SHARED.get_or_try_init(async || {
            let control_plane = ControlPlane::start().await?;
            control_plane.install_crds(&serde_json::to_string(&definition())?).await?;
            anyhow::Ok(control_plane)
        });
        let server = Self(started.await?.client()?);
        let deadline = Instant::now() + PATIENCE;
        // A definition can be established a moment before its kind is served.
        for version in [OLD, NEW] {
            while let Err(error) = server.request(Method::GET, &path(version, ""), None).await {
                if Instant::now() > deadline {
                    return Err(error).with_context(|| format!("{version} is not served"));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(server)
    }

    /// Creates one, or returns the reason of the refusal.
    pub(crate) async fn create(
        &self,
        version: &str,
        name: &str,
        spec: Option<&Value>,
    ) -> Result<Result<Value, String>> {
        let mut object = json!({
            "apiVersion": format!("{}/{version}", EVENT_RECYCLERS.group),
            "kind": EVENT_RECYCLERS.kind,
            "metadata": {"name": name},
        });
        if let Some(spec) = spec {
            object["spec"] = spec.clone();
        }
        self.answer(Method::POST, &path(version, ""), &object).await
    }

    pub(crate) async fn read(&self, version: &str, name: &str) -> Result<Value> {
        Ok(self.request(Method::GET, &path(version, name), None).await?)
    }

    /// Replaces the status, or returns the reason of the refusal.
    pub(crate) async fn set_status(
        &self,
        version: &str,
        object: &Value,
        status: Value,
    ) -> Result<Result<Value, String>> {
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let mut object = object.clone();
        object["apiVersion"] = format!("{}/{version}", EVENT_RECYCLERS.group).into();
        object["status"] = status;
        self.answer(Method::PUT, &path(version, &format!("{name}/status")), &object).await
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        object: &Value,
    ) -> Result<Result<Value, String>> {
        match self.request(method, path, Some(object)).await {
            Ok(stored) => Ok(Ok(stored)),
            Err(kube::Error::Api(status)) if [400, 422].contains(&status.code) => {
                Ok(Err(status.message))
            }
            Err(error) => Err(error).context(path.to_owned()),
        }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, kube::Error> {
        let body = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(kube::Error::HttpError)?;
        self.0.request(request).await
    }
}

fn path(version: &str, below: &str) -> String {
    let collection = format!("/apis/{}/{version}/eventrecyclers", EVENT_RECYCLERS.group);
    if below.is_empty() { collection } else { format!("{collection}/{below}") }
}

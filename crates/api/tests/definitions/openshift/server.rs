//! One API server with three definitions of each kind: ours under its own group, OpenShift's two sets under groups made
//! up for them.
//!
//! The group is the only thing that is changed, so the three can be compared without starting three clusters.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use http::{Method, Request};
use kube::Client;
use machinist_api::resource::MACHINES;
use machinist_control_plane::ControlPlane;
use machinist_testbed::openshift::{FeatureSet, openshift_crds};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

/// Whose definitions an object is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Ours,
    OpenShifts(FeatureSet),
}

/// The answer of the API server to a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The object as it is stored now.
    Accepted(Value),
    /// Why not.
    Refused(String),
}

/// The kinds under test, by their name in paths.
pub(crate) const KINDS: [(&str, &str); 2] =
    [("machines", "Machine"), ("machinesets", "MachineSet")];

impl Whose {
    pub(crate) const ALL: [Self; 3] = [
        Self::Ours,
        Self::OpenShifts(FeatureSet::Default),
        Self::OpenShifts(FeatureSet::CustomNoUpgrade),
    ];

    fn group(self) -> &'static str {
        match self {
            Self::Ours => MACHINES.group,
            Self::OpenShifts(FeatureSet::Default) => "default.openshift.test",
            Self::OpenShifts(FeatureSet::CustomNoUpgrade) => "custom.openshift.test",
        }
    }

    /// The definitions, under the group of their own.
    pub(crate) async fn definitions(self) -> Result<Vec<Value>> {
        let mut definitions = match self {
            Self::Ours => machinist_api::crds()
                .into_iter()
                .filter(|crd| KINDS.iter().any(|(plural, _)| crd.spec.names.plural == *plural))
                .map(serde_json::to_value)
                .collect::<Result<Vec<_>, _>>()?,
            Self::OpenShifts(set) => openshift_crds(set).await?,
        };
        for definition in &mut definitions {
            let plural = definition["spec"]["names"]["plural"].as_str().context("no plural")?;
            definition["metadata"] = json!({"name": format!("{plural}.{}", self.group())});
            definition["spec"]["group"] = json!(self.group());
        }
        Ok(definitions)
    }

    /// The schema of one kind.
    pub(crate) async fn schema(self, plural: &str) -> Result<Value> {
        let definition = self.definition(plural).await?;
        Ok(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
    }

    pub(crate) async fn definition(self, plural: &str) -> Result<Value> {
        let mut definitions = self.definitions().await?.into_iter();
        definitions
            .find(|definition| definition["spec"]["names"]["plural"] == *plural)
            .with_context(|| format!("no {plural} in {self:?}"))
    }

    fn collection(self, plural: &str) -> String {
        format!("/apis/{}/v1beta1/namespaces/default/{plural}", self.group())
    }
}

impl Answer {
    pub(crate) fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// The stored object; an error where there is none.
    pub(crate) fn object(self) -> Result<Value> {
        match self {
            Self::Accepted(object) => Ok(object),
            Self::Refused(why) => bail!("refused: {why}"),
        }
    }
}

/// A client of an API server.
pub(crate) struct Server {
    client: Client,
}

impl Server {
    /// The one that all tests share, with all definitions.
    pub(crate) async fn get() -> Result<Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        let started = SHARED.get_or_try_init(async || {
            let control_plane = ControlPlane::start().await?;
            install(&control_plane, &Whose::ALL).await?;
            anyhow::Ok(control_plane)
        });
        Self::of(started.await?, &Whose::ALL).await
    }

    /// One that has these definitions already.
    pub(crate) async fn of(control_plane: &ControlPlane, all: &[Whose]) -> Result<Self> {
        let server = Self { client: control_plane.client()? };
        for whose in all {
            for (plural, _) in KINDS {
                server.wait_served(&whose.collection(plural)).await?;
            }
        }
        Ok(server)
    }

    /// A definition can be established a moment before its kind is served.
    async fn wait_served(&self, collection: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.request(Method::GET, collection, None).await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(error).with_context(|| format!("{collection} is not served"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Creates an object with this name and spec. `query` may be `?dryRun=All`.
    pub(crate) async fn create(
        &self,
        whose: Whose,
        (plural, kind): (&str, &str),
        (name, query): (&str, &str),
        spec: Option<&Value>,
    ) -> Result<Answer> {
        let api_version = format!("{}/v1beta1", whose.group());
        let mut object =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        if let Some(spec) = spec {
            object["spec"] = spec.clone();
        }
        let path = format!("{}{query}", whose.collection(plural));
        self.write(Method::POST, &path, &object).await
    }

    /// Replaces the status of a stored object.
    pub(crate) async fn set_status(
        &self,
        whose: Whose,
        (plural, _): (&str, &str),
        object: &Value,
        status: &Value,
    ) -> Result<Answer> {
        let mut object = object.clone();
        object["status"] = status.clone();
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let path = format!("{}/{name}/status", whose.collection(plural));
        self.write(Method::PUT, &path, &object).await
    }

    /// Reads what is below an object's collection, in the form that `accept` asks for.
    pub(crate) async fn read(
        &self,
        whose: Whose,
        plural: &str,
        below: &str,
        accept: &str,
    ) -> Result<Value> {
        let path = format!("{}{below}", whose.collection(plural));
        let request = Request::get(path).header(http::header::ACCEPT, accept).body(Vec::new())?;
        Ok(self.client.request(request).await?)
    }

    async fn write(&self, method: Method, path: &str, object: &Value) -> Result<Answer> {
        match self.request(method, path, Some(object)).await {
            Ok(stored) => Ok(Answer::Accepted(stored)),
            // The API server answers 400 if the object cannot be decoded.
            Err(kube::Error::Api(status)) if [400, 422].contains(&status.code) => {
                Ok(Answer::Refused(status.message))
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
        self.client.request(request).await
    }
}

pub(crate) async fn install(control_plane: &ControlPlane, all: &[Whose]) -> Result<()> {
    let mut documents = Vec::new();
    for whose in all {
        let definitions = whose.definitions().await?;
        ensure!(definitions.len() == KINDS.len(), "{whose:?} has {} kinds", definitions.len());
        documents.extend(definitions.iter().map(Value::to_string));
    }
    control_plane.install_crds(&documents.join("\n---\n")).await
}

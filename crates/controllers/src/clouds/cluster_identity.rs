//! The name of the cluster in the tags of its instances. It must never change, or the instances would seem to
//! be another cluster's.

use std::sync::Arc;

use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cluster::{ApiError, Session};
use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::cloud_access::messages;

/// The cluster's name in tags: OpenShift's infrastructure name, else `--cluster-id`, else the uid of `kube-system`.
#[derive(Debug)]
pub struct ClusterIdentity {
    session: Session,
    given: Option<Arc<str>>,
    known: OnceCell<Arc<str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Infrastructure {
    status: InfrastructureStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InfrastructureStatus {
    infrastructure_name: String,
}

#[derive(Deserialize)]
struct Namespace {
    metadata: NamespaceMetadata,
}

#[derive(Deserialize)]
struct NamespaceMetadata {
    uid: String,
}

impl ClusterIdentity {
    /// `given` is `--cluster-id`.
    pub fn new(session: Session, given: Option<Arc<str>>) -> Self {
        Self { session, given, known: OnceCell::new() }
    }

    /// The name, read once; again after an error.
    pub async fn get(&self) -> Result<Arc<str>, ApiError> {
        self.known.get_or_try_init(|| self.find()).await.cloned()
    }

    async fn find(&self) -> Result<Arc<str>, ApiError> {
        let infrastructure = INFRASTRUCTURES.object_path("", "cluster");
        let infrastructure: Option<Infrastructure> = self.read(&infrastructure).await?;
        let name = infrastructure.map(|object| object.status.infrastructure_name);
        match (name, &self.given) {
            (Some(name), _) if !name.is_empty() => return Ok(name.into()),
            (_, Some(given)) => return Ok(Arc::clone(given)),
            // Another name would be wrong as soon as OpenShift sets this one.
            (Some(_), None) => {
                return Err(ApiError::NotUnderstood(messages::NO_INFRASTRUCTURE_NAME.to_owned()));
            }
            (None, None) => {}
        }
        let namespace: Option<Namespace> = self.read("/api/v1/namespaces/kube-system").await?;
        let uid = namespace.map(|namespace| namespace.metadata.uid);
        uid.map(Arc::from)
            .ok_or_else(|| ApiError::NotUnderstood(messages::NO_KUBE_SYSTEM.to_owned()))
    }

    async fn read<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<Option<T>, ApiError> {
        let timeout = self.session.request_timeout();
        match self.session.get(path, "application/json", timeout).await {
            Ok(body) => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|error| ApiError::NotUnderstood(error.to_string())),
            Err(error) if error.category() == Category::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

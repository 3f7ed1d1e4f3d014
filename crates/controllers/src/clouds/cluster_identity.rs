//! The name of the cluster in the tags of its instances. It must never change, or they would be another cluster's.

use std::sync::Arc;

use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cluster::{ApiError, Session};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::cloud_access::messages;

/// The cluster's name in tags: OpenShift's infrastructure name, else `--cluster-id`, else the uid of `kube-system`.
#[derive(Debug)]
pub(crate) struct ClusterIdentity {
    session: Session,
    given: Option<Arc<str>>,
    known: OnceCell<Arc<str>>,
}

impl ClusterIdentity {
    pub(crate) fn new(session: Session, given: Option<Arc<str>>) -> Self {
        Self { session, given, known: OnceCell::new() }
    }

    /// The name, read once; again after an error.
    pub(crate) async fn get(&self) -> Result<Arc<str>, ApiError> {
        self.known.get_or_try_init(|| self.find()).await.cloned()
    }

    async fn find(&self) -> Result<Arc<str>, ApiError> {
        let infrastructure = INFRASTRUCTURES.object_path("", "cluster");
        let infrastructure = self.read(&infrastructure).await?;
        let name = infrastructure.as_ref().map(|object| text(object, "/status/infrastructureName"));
        match (name, &self.given) {
            (Some(Some(name)), _) => return Ok(name),
            (_, Some(given)) => return Ok(Arc::clone(given)),
            // Another name would be wrong as soon as OpenShift sets this one.
            (Some(_), None) => {
                return Err(ApiError::NotUnderstood(messages::NO_INFRASTRUCTURE_NAME.to_owned()));
            }
            (None, None) => {}
        }
        let namespace = self.read("/api/v1/namespaces/kube-system").await?;
        let uid = namespace.and_then(|namespace| text(&namespace, "/metadata/uid"));
        uid.ok_or_else(|| ApiError::NotUnderstood(messages::NO_KUBE_SYSTEM.to_owned()))
    }

    async fn read(&self, path: &str) -> Result<Option<Value>, ApiError> {
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

fn text(object: &Value, path: &str) -> Option<Arc<str>> {
    object.pointer(path)?.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}

//! Account, region, endpoint and credentials of cloud calls.
//!
//! Input: the shape and namespace of a Machine, its Secret, and OpenShift's settings. Each source is a watch on one
//! named object, so that a Role can name it; none of them has to exist.

pub(crate) mod messages;
pub(crate) mod openshift_object;
pub(crate) mod released_secrets;
mod watched_secrets;

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_domain::shape::Shape;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::controller::start::Shared;

use self::openshift_object::OpenShiftObject;
pub use self::watched_secrets::SecretScope;
use self::watched_secrets::WatchedSecrets;
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Concern {
    /// Objects that reference this Secret.
    Secret(ObjectKey),
    All,
}

pub(crate) type Listener = Arc<dyn Fn(Concern) + Send + Sync>;

#[derive(Debug)]
pub(crate) enum CloudAccessError {
    NoRegion,
    NoSecret(ObjectKey),
    /// An object could not be read or decoded.
    Unreadable(Failure),
}

pub(crate) struct CloudAccessResolver {
    secrets: WatchedSecrets,
    certificates: OpenShiftObject<Certificates>,
    infrastructure: OpenShiftObject<Infrastructures>,
    listener: Listener,
}

impl std::fmt::Debug for CloudAccessResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CloudAccessResolver")
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

impl CloudAccessResolver {
    /// Reads the control cluster; `listener` is called on changes.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        openshift: &OpenShift,
        secrets: SecretScope,
        listener: Listener,
    ) -> Self {
        let all = Arc::clone(&listener);
        openshift.when_here(move || all(Concern::All));
        let certificates = ObjectKey::new("openshift-config-managed", "kube-cloud-config");
        Self {
            secrets: WatchedSecrets::new(shared, secrets, &listener),
            certificates: OpenShiftObject::new(shared, openshift, certificates, Certificates),
            infrastructure: OpenShiftObject::infrastructure(shared, openshift),
            listener,
        }
    }

    /// `service` is what the provider names as the one whose endpoint it needs.
    pub(crate) async fn resolve(
        &self,
        namespace: &str,
        shape: &Shape,
        service: Option<&str>,
    ) -> Result<CloudAccess, CloudAccessError> {
        let region = shape.region.clone().ok_or(CloudAccessError::NoRegion)?;
        let credentials = match &shape.credentials_secret {
            None => Credentials::Ambient,
            Some(name) => self.secret(ObjectKey::new(namespace, Arc::clone(name))).await?,
        };
        let unreadable = CloudAccessError::Unreadable;
        let infrastructure = self.infrastructure.get(|watch| self.notify(watch)).await;
        let endpoint = infrastructure.map_err(unreadable)?.and_then(|it| it.endpoint(service?));
        let certificates = self.certificates.get(|watch| self.notify(watch)).await;
        let ca_bundle = certificates.map_err(unreadable)?.and_then(|it| it.ca_bundle.clone());
        Ok(CloudAccess { region, credentials, endpoint, ca_bundle })
    }

    pub(crate) fn release(&self, secret: &ObjectKey) {
        self.secrets.release(secret);
    }

    async fn secret(&self, key: ObjectKey) -> Result<Credentials, CloudAccessError> {
        let version = self.secrets.version(&key).await;
        match version.map_err(|error| CloudAccessError::Unreadable(error.failure()))? {
            None => Err(CloudAccessError::NoSecret(key)),
            Some(version) => Ok(Credentials::Secret { version, key }),
        }
    }

    fn notify<K: Kind>(&self, watch: &Cache<K>) {
        let listener = Arc::clone(&self.listener);
        watch.subscribe(move |change| {
            // Resyncs are skipped: the listeners have their own.
            if change.is_news() {
                listener(Concern::All);
            }
        });
    }
}

//! Account, region, endpoint and credentials of cloud calls.
//!
//! Input: the shape and namespace of a Machine, its Secret, and OpenShift's settings. Output: the access,
//! which providers use. Each source is a watch on one named object, so that a Role can name it; none of them
//! has to exist.

pub(crate) mod messages;
pub mod released_secrets;
mod watched_secrets;

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::shape::Shape;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use crate::first_list::{self, Target, Unreadable};
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

pub use self::watched_secrets::SecretScope;
use self::watched_secrets::WatchedSecrets;

/// The objects that a change affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concern {
    /// Objects that reference this Secret.
    Secret(ObjectKey),
    /// All objects.
    All,
}

/// Called on changes.
pub type Listener = Arc<dyn Fn(Concern) + Send + Sync>;

/// Why the cloud access cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum CloudAccessError {
    /// The spec has no region.
    #[error("{}", messages::NO_REGION)]
    NoRegion,
    /// The Secret does not exist.
    #[error("{}", messages::no_secret(.0))]
    NoSecret(ObjectKey),
    /// An object could not be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// An object could not be decoded.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Determines account, region, endpoint and credentials of cloud calls.
pub struct CloudAccessResolver {
    shared: Arc<Shared>,
    secrets: WatchedSecrets,
    openshift: OpenShift,
    settings: Mutex<Option<Settings>>,
    listener: Listener,
}

/// Settings that only OpenShift has.
#[derive(Clone)]
struct Settings {
    certificates: Arc<Cache<Certificates>>,
    infrastructure: Arc<Cache<Infrastructures>>,
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
    pub fn new(
        shared: &Arc<Shared>,
        openshift: OpenShift,
        secrets: SecretScope,
        listener: Listener,
    ) -> Self {
        let all = Arc::clone(&listener);
        openshift.when_here(move || all(Concern::All));
        Self {
            shared: Arc::clone(shared),
            secrets: WatchedSecrets::new(shared, secrets, &listener),
            openshift,
            settings: Mutex::default(),
            listener,
        }
    }

    /// The cloud access for a Machine of this shape in this namespace.
    pub async fn resolve(
        &self,
        namespace: &str,
        shape: &Shape,
    ) -> Result<CloudAccess, CloudAccessError> {
        let region = shape.region.clone().ok_or(CloudAccessError::NoRegion)?;
        let credentials = match &shape.credentials_secret {
            None => Credentials::Ambient,
            Some(name) => self.secret(ObjectKey::new(namespace, Arc::clone(name))).await?,
        };
        let (endpoint, ca_bundle) = match self.settings().await? {
            None => (None, None),
            Some(settings) => (self.endpoint(&settings).await?, self.ca_bundle(&settings).await?),
        };
        Ok(CloudAccess { region, credentials, endpoint, ca_bundle })
    }

    /// Closes the watch of a Secret that is not referenced any more.
    pub fn release(&self, secret: &ObjectKey) {
        self.secrets.release(secret);
    }

    async fn secret(&self, key: ObjectKey) -> Result<Credentials, CloudAccessError> {
        match self.secrets.version(&key).await? {
            None => Err(CloudAccessError::NoSecret(key)),
            Some(version) => Ok(Credentials::Secret { version, key }),
        }
    }

    async fn ca_bundle(&self, settings: &Settings) -> Result<Option<Arc<str>>, CloudAccessError> {
        let entry = self.get(&settings.certificates, &certificates()).await?;
        let map = decoded::<Certificates>(entry)?;
        Ok(map.and_then(|map| map.ca_bundle.clone()))
    }

    async fn endpoint(&self, settings: &Settings) -> Result<Option<Arc<str>>, CloudAccessError> {
        let entry = self.get(&settings.infrastructure, &infrastructure()).await?;
        let infrastructure = decoded::<Infrastructures>(entry)?;
        Ok(infrastructure.and_then(|infrastructure| infrastructure.ec2_endpoint.clone()))
    }

    /// The settings of OpenShift. On other clusters nothing is watched.
    async fn settings(&self) -> Result<Option<Settings>, Unreadable> {
        if let Some(settings) = &*self.settings.lock() {
            return Ok(Some(settings.clone()));
        }
        if !self.openshift.is_here().await? {
            return Ok(None);
        }
        let settings = Settings {
            certificates: open(&self.shared, certificates(), Certificates),
            infrastructure: open(&self.shared, infrastructure(), Infrastructures),
        };
        // Opened outside of the lock: subscribing calls the listener, which may call this method.
        let first = self.settings.lock().replace(settings.clone()).is_none();
        if first {
            notify(&settings.certificates, &self.listener, Concern::All);
            notify(&settings.infrastructure, &self.listener, Concern::All);
        }
        Ok(Some(settings))
    }

    /// The object, once the cache has synced. Missing rights or no answer are errors, not absence.
    async fn get<K: Kind>(
        &self,
        cache: &Cache<K>,
        key: &ObjectKey,
    ) -> Result<Option<Entry<K::Stored>>, Unreadable> {
        let what = || Target::Other(format!("{} {key}", K::RESOURCE));
        first_list::wait(cache, what, self.shared.timings.request).await?;
        Ok(cache.get(key))
    }
}

/// An object that cannot be decoded is not absent: it may name another endpoint for the credentials.
pub(crate) fn decoded<K: Kind>(
    entry: Option<Entry<K::Stored>>,
) -> Result<Option<Arc<K::Stored>>, ApiError> {
    match entry {
        None => Ok(None),
        Some(Entry::Known(object)) => Ok(Some(object)),
        Some(Entry::Undecodable(object)) => {
            let what = format!("{} {}", K::RESOURCE, object.meta.key);
            Err(ApiError::NotUnderstood(messages::undecodable(&what, &object.error)))
        }
    }
}

fn certificates() -> ObjectKey {
    ObjectKey::new("openshift-config-managed", "kube-cloud-config")
}

pub(crate) fn infrastructure() -> ObjectKey {
    ObjectKey::new("", "cluster")
}

pub(crate) fn open<K: Kind>(shared: &Shared, key: ObjectKey, kind: K) -> Arc<Cache<K>> {
    shared.caches.open(&shared.control, Scope::Object(key), kind)
}

fn notify<K: Kind>(cache: &Cache<K>, listener: &Listener, concern: Concern) {
    let listener = Arc::clone(listener);
    cache.subscribe(move |change| {
        // Resyncs are skipped: the listeners have their own.
        if change.is_news() {
            listener(concern.clone());
        }
    });
}

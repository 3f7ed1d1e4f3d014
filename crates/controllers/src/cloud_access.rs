//! Whom to ask in a cloud, as whom: what the cluster says about credentials, endpoints and certificates.
//!
//! Input: the shape of a machine and the namespace that it is in. Output: a [`Realm`]. Each source is a watch on a single named object, so that a
//! role can name it; none of them has to exist. Whoever listens hears which objects a change concerns.
//!
//! `watched_secrets` has the versions of Secrets; [`released_secrets`] knows which of them objects have stopped naming.

pub mod released_secrets;
mod watched_secrets;

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::shape::Shape;
use machinist_provider::capacity::{Credentials, Realm};
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use crate::first_list::{self, Unreadable};
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

pub use self::watched_secrets::SecretScope;
use self::watched_secrets::WatchedSecrets;

/// What a change concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concern {
    /// Objects that name this Secret.
    Secret(ObjectKey),
    /// Everything.
    All,
}

/// Hears what a change concerns.
pub type Listener = Arc<dyn Fn(Concern) + Send + Sync>;

/// Why there is no realm.
#[derive(Debug, thiserror::Error)]
pub enum CloudAccessError {
    /// The spec does not say where.
    #[error("placement.region is missing")]
    NoRegion,
    /// The Secret is not there.
    #[error("secret {0} does not exist")]
    NoSecret(ObjectKey),
    /// It could not be looked at.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It was looked at, and not understood.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Finds access.
pub struct CloudAccessResolver {
    shared: Arc<Shared>,
    secrets: WatchedSecrets,
    openshift: OpenShift,
    settings: Mutex<Option<Settings>>,
    listener: Listener,
}

/// What only OpenShift has.
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
    /// Finds access in the control cluster; `listener` hears of changes.
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

    /// Whom to ask about a machine of this shape that is wanted in this namespace.
    pub async fn resolve(&self, namespace: &str, shape: &Shape) -> Result<Realm, CloudAccessError> {
        let region = shape.region.clone().ok_or(CloudAccessError::NoRegion)?;
        let credentials = match &shape.credentials_secret {
            None => Credentials::Ambient,
            Some(name) => self.secret(ObjectKey::new(namespace, Arc::clone(name))).await?,
        };
        let (endpoint, ca_bundle) = match self.settings().await? {
            None => (None, None),
            Some(settings) => (self.endpoint(&settings).await?, self.ca_bundle(&settings).await?),
        };
        Ok(Realm { region, credentials, endpoint, ca_bundle })
    }

    /// Nobody names this Secret any more.
    pub fn let_go(&self, secret: &ObjectKey) {
        self.secrets.let_go(secret);
    }

    async fn secret(&self, key: ObjectKey) -> Result<Credentials, CloudAccessError> {
        match self.secrets.version(&key).await? {
            None => Err(CloudAccessError::NoSecret(key)),
            Some(version) => Ok(Credentials::Secret { version, key }),
        }
    }

    async fn ca_bundle(&self, settings: &Settings) -> Result<Option<Arc<str>>, CloudAccessError> {
        let entry = self.look(&settings.certificates, &certificates()).await?;
        let map = understood::<Certificates>(entry)?;
        Ok(map.and_then(|map| map.ca_bundle.clone()))
    }

    async fn endpoint(&self, settings: &Settings) -> Result<Option<Arc<str>>, CloudAccessError> {
        let entry = self.look(&settings.infrastructure, &infrastructure()).await?;
        let infrastructure = understood::<Infrastructures>(entry)?;
        Ok(infrastructure.and_then(|infrastructure| infrastructure.ec2_endpoint.clone()))
    }

    /// What OpenShift says, where this is OpenShift. Elsewhere nothing is even watched.
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
        // Opened outside of the lock: subscribing calls the listener, which may look here again.
        let first = self.settings.lock().replace(settings.clone()).is_none();
        if first {
            tell(&settings.certificates, &self.listener, Concern::All);
            tell(&settings.infrastructure, &self.listener, Concern::All);
        }
        Ok(Some(settings))
    }

    /// What is there under `key`. That it may not be seen, or nobody answers, is an error: it does not mean that there is nothing.
    async fn look<K: Kind>(
        &self,
        cache: &Cache<K>,
        key: &ObjectKey,
    ) -> Result<Option<Entry<K::Stored>>, Unreadable> {
        let what = || format!("{} {key}", K::RESOURCE);
        first_list::wait(cache, what, self.shared.timings.request).await?;
        Ok(cache.get(key))
    }
}

/// An object that cannot be decoded is not absent: what it says might send the credentials somewhere else.
pub(crate) fn understood<K: Kind>(
    entry: Option<Entry<K::Stored>>,
) -> Result<Option<Arc<K::Stored>>, ApiError> {
    match entry {
        None => Ok(None),
        Some(Entry::Known(object)) => Ok(Some(object)),
        Some(Entry::Undecodable(object)) => {
            let (key, error) = (&object.meta.key, &object.error);
            Err(ApiError::NotUnderstood(format!("{} {key}: {error}", K::RESOURCE)))
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

fn tell<K: Kind>(cache: &Cache<K>, listener: &Listener, concern: Concern) {
    let listener = Arc::clone(listener);
    cache.subscribe(move |change| {
        // Whoever listens has a resync of their own; with ours the cloud would be asked twice.
        if change.is_news() {
            listener(concern.clone());
        }
    });
}

//! Account, region, endpoint and credentials of cloud calls, from a Machine, its Secret and OpenShift's settings. Each
//! source is a watch on one named object, so that a Role can name it; none of them has to exist.

pub(crate) mod messages;
pub(crate) mod openshift_object;
mod watched_secrets;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_domain::shape::Shape;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::{Kind, Stored as _};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;
use parking_lot::Mutex;

use self::openshift_object::OpenShiftObject;
pub use self::watched_secrets::SecretScope;
use self::watched_secrets::WatchedSecrets;
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

/// Requeues the objects that reference this Secret; all objects if there is none.
pub(crate) type Listener = Arc<dyn Fn(Option<&ObjectKey>) + Send + Sync>;

/// Requeues one object, once the driver has subscribed: earlier changes are in the caches by then.
pub(crate) type Requeue = Arc<dyn Fn(&ObjectKey) + Send + Sync>;

#[derive(Debug)]
pub(crate) enum CloudAccessError {
    NoRegion,
    NoSecret(ObjectKey),
    /// An object could not be read or decoded.
    Unreadable(Failure),
}

/// The cloud access of the objects of kind `K`, which are requeued when it changes.
pub(crate) struct CloudAccessResolver<K: Kind> {
    objects: Arc<Cache<K>>,
    shape_of: ShapeOf<K>,
    secrets: WatchedSecrets,
    /// Secrets that objects do not reference any more, by object. Its next reconcile checks whether another object
    /// does: one that began before the change, and may still open the old watch, is over by then.
    released: Arc<Mutex<HashMap<ObjectKey, Vec<ObjectKey>>>>,
    certificates: OpenShiftObject<Certificates>,
    infrastructure: OpenShiftObject<Infrastructures>,
    listener: Listener,
    queue: Arc<OnceLock<Arc<Queue>>>,
}

type ShapeOf<K> = fn(&<K as Kind>::Stored) -> Option<&Shape>;

impl<K: Kind> std::fmt::Debug for CloudAccessResolver<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CloudAccessResolver")
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}

impl<K: Kind> CloudAccessResolver<K> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        openshift: &OpenShift,
        secrets: SecretScope,
        objects: &Arc<Cache<K>>,
        shape_of: ShapeOf<K>,
    ) -> Self {
        let queue = Arc::<OnceLock<Arc<Queue>>>::default();
        let (all, woken) = (Arc::clone(objects), Arc::clone(&queue));
        let listener: Listener = Arc::new(move |secret| {
            let Some(queue) = woken.get() else { return };
            let concerned = match secret {
                None => all.keys(),
                Some(_) => all.select(|object| secret_of::<K>(object, shape_of).as_ref() == secret),
            };
            for key in &concerned {
                queue.add(key);
            }
        });
        let all = Arc::clone(&listener);
        openshift.when_served(INFRASTRUCTURES, move || all(None));
        Self {
            objects: Arc::clone(objects),
            shape_of,
            secrets: WatchedSecrets::new(shared, secrets, &listener),
            released: Arc::default(),
            certificates: OpenShiftObject::certificates(shared, openshift),
            infrastructure: OpenShiftObject::infrastructure(shared, openshift),
            listener,
            queue,
        }
    }

    /// Enqueues every object that changes, a deleted one too: it may have been the last that named its Secret.
    pub(crate) fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = Arc::clone(self.queue.get_or_init(|| Arc::clone(queue)));
        let (released, shape_of) = (Arc::clone(&self.released), self.shape_of);
        self.objects.subscribe(move |change| {
            let [before, after] = [change.before, change.after]
                .map(|entry| secret_of::<K>(entry?.known()?, shape_of));
            if let Some(secret) = before.filter(|before| after.as_ref() != Some(before)) {
                released.lock().entry(change.key.clone()).or_default().push(secret);
            }
            queue.add_changed(change.key, change);
        });
    }

    pub(crate) fn requeue(&self) -> Requeue {
        let queue = Arc::clone(&self.queue);
        Arc::new(move |key| {
            if let Some(queue) = queue.get() {
                queue.add(key);
            }
        })
    }

    /// Closes the watches of Secrets that `object` was the last to reference, and returns these Secrets.
    pub(crate) fn release_secrets(&self, object: &ObjectKey) -> Vec<ObjectKey> {
        let mut unused = self.released.lock().remove(object).unwrap_or_default();
        unused.retain(|secret| {
            self.objects.survey(|_, all| {
                let mut named =
                    all.filter_map(|entry| secret_of::<K>(entry.known()?, self.shape_of));
                named.all(|named| named != *secret)
            })
        });
        for secret in &unused {
            self.secrets.release(secret);
        }
        unused
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

    async fn secret(&self, key: ObjectKey) -> Result<Credentials, CloudAccessError> {
        let version = self.secrets.version(&key).await;
        match version.map_err(|error| CloudAccessError::Unreadable(error.failure()))? {
            None => Err(CloudAccessError::NoSecret(key)),
            Some(version) => Ok(Credentials::Secret { version, key }),
        }
    }

    fn notify<O: Kind>(&self, watch: &Cache<O>) {
        let listener = Arc::clone(&self.listener);
        watch.subscribe(move |change| {
            // Resyncs are skipped: the listeners have their own.
            if change.is_news() {
                listener(None);
            }
        });
    }
}

fn secret_of<K: Kind>(object: &K::Stored, shape_of: ShapeOf<K>) -> Option<ObjectKey> {
    let name = shape_of(object)?.credentials_secret.as_ref()?;
    Some(ObjectKey::new(Arc::clone(&object.meta().key.namespace), Arc::clone(name)))
}

//! Caches of Kubernetes objects (informers).
//!
//! [`kind`] and [`decode`] define what is stored. [`store`] holds the objects and never replaces a newer one by an
//! older one. [`list`], [`watch`] and [`live`] fill it; [`index`] finds objects by other keys; [`registry`] shares one
//! watch per (cluster, kind, scope).

mod decode;
pub mod index;
pub mod kind;
mod list;
mod live;
pub mod registry;
pub mod store;
mod watch;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use machinist_api::resource::{Resource, push_encoded};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch as signal};

pub use self::decode::Undecodable;
use self::index::Index;
use self::kind::Kind;
use self::store::{Entry, Store};
use crate::clock::SharedClock;
use crate::cluster::{ApiError, Session};
use crate::metrics::Metrics;
use crate::timings::Timings;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every namespace, and cluster-scoped kinds.
    All,
    Namespace(String),
    /// One object, so that RBAC can name it.
    Object(ObjectKey),
}

impl Scope {
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Namespace(name) => Some(name),
            Self::Object(key) => Some(&*key.namespace).filter(|name| !name.is_empty()),
        }
    }

    /// The path of the collection with the start of a query; more parameters follow after `&`.
    fn path(&self, resource: Resource) -> String {
        let mut path = resource.collection_path(self.namespace());
        path.push('?');
        if let Self::Object(key) = self {
            path.push_str("fieldSelector=metadata.name%3D");
            push_encoded(&mut path, &key.name);
            path.push('&');
        }
        path
    }
}

/// The objects of one kind in one scope of one cluster.
pub struct Cache<K: Kind> {
    pub(crate) kind: K,
    scope: Scope,
    session: Session,
    store: Store<K::Stored>,
    indexes: Mutex<HashMap<&'static str, Arc<Index>>>,
    health: Mutex<Health>,
    synced: signal::Sender<bool>,
    /// Notified when `health.trouble` is set.
    troubled: Notify,
    clock: SharedClock,
    timings: Timings,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Clone, Default)]
struct Health {
    heard_at: Option<Duration>,
    trouble: Option<ApiError>,
    opened_at: Option<Duration>,
    /// Whether the watch needs a new list.
    must_list: bool,
}

impl<K: Kind> std::fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("resource", &self.kind.resource())
            .field("scope", &self.scope)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// A cache is read as its store is.
impl<K: Kind> std::ops::Deref for Cache<K> {
    type Target = Store<K::Stored>;

    fn deref(&self) -> &Self::Target {
        &self.store
    }
}

impl<K: Kind> Cache<K> {
    /// An index of the decodable objects by the terms that `of` returns. It always agrees with the cache.
    pub fn index(&self, of: fn(&K::Stored) -> Vec<Arc<str>>) -> Arc<Index> {
        self.index_entries(move |entry| match entry {
            Entry::Known(object) => of(object),
            Entry::Undecodable(_) => Vec::new(),
        })
    }

    /// A shared index. The first caller defines it; all others must pass the same function.
    pub fn shared_index(
        &self,
        name: &'static str,
        of: fn(&K::Stored) -> Vec<Arc<str>>,
    ) -> Arc<Index> {
        Arc::clone(self.indexes.lock().entry(name).or_insert_with(|| self.index(of)))
    }

    /// An index of all objects, undecodable ones included: they have labels and owners.
    pub fn index_entries(
        &self,
        of: impl Fn(&Entry<K::Stored>) -> Vec<Arc<str>> + Send + Sync + 'static,
    ) -> Arc<Index> {
        let index = Arc::<Index>::default();
        self.store.attend(index::keeper(Arc::clone(&index), of));
        index
    }

    pub async fn wait_synced(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        drop(self.synced.subscribe().wait_for(|synced| *synced).await);
    }

    /// Waits for the first list; returns an error that prevents it.
    pub async fn wait_synced_or_trouble(&self) -> Option<ApiError> {
        let troubled = async {
            loop {
                // Registered before the check, so that no notification is missed.
                let mut notified = pin!(self.troubled.notified());
                notified.as_mut().enable();
                if let Some(trouble) = self.health.lock().trouble.clone() {
                    return trouble;
                }
                notified.await;
            }
        };
        tokio::select! {
            biased;
            () = self.wait_synced() => None,
            trouble = troubled => Some(trouble),
        }
    }

    fn heard(&self) {
        let mut health = self.health.lock();
        health.heard_at = Some(self.clock.uptime());
        health.trouble = None;
    }
}

/// A cache of any kind, for readiness and metrics.
pub trait AnyCache: Send + Sync {
    fn resource(&self) -> Resource;
    /// Whether it concerns only its users if it cannot be filled.
    fn is_optional(&self) -> bool;
    fn scope(&self) -> &Scope;
    fn state(&self) -> CacheState;
    /// Keys of all objects, undecodable ones included.
    fn keys(&self) -> Vec<ObjectKey>;
    /// Identity and version of an object, also of an undecodable one.
    fn meta(&self, key: &ObjectKey) -> Option<Meta>;
    fn wait_synced(&self) -> BoxFuture<'_, ()>;
    fn verify(&self) -> BoxFuture<'_, Result<usize, ApiError>>;
}

#[derive(Debug, Clone)]
pub struct CacheState {
    pub synced: bool,
    pub objects: usize,
    pub undecodable: usize,
    /// Time since the last message of the watch.
    pub age: Option<Duration>,
    /// The error since then.
    pub trouble: Option<ApiError>,
}

impl<K: Kind> AnyCache for Cache<K> {
    fn resource(&self) -> Resource {
        self.kind.resource()
    }

    fn is_optional(&self) -> bool {
        K::OPTIONAL || matches!(self.scope, Scope::Object(_))
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.store.keys()
    }

    fn meta(&self, key: &ObjectKey) -> Option<Meta> {
        self.store.get(key).map(|entry| entry.meta().clone())
    }

    fn wait_synced(&self) -> BoxFuture<'_, ()> {
        Box::pin(Self::wait_synced(self))
    }

    fn verify(&self) -> BoxFuture<'_, Result<usize, ApiError>> {
        Box::pin(Self::verify(self))
    }

    fn state(&self) -> CacheState {
        let health = self.health.lock().clone();
        CacheState {
            synced: *self.synced.borrow(),
            objects: self.store.len(),
            undecodable: self.store.undecodable(),
            age: health.heard_at.map(|at| self.clock.uptime().saturating_sub(at)),
            trouble: health.trouble,
        }
    }
}

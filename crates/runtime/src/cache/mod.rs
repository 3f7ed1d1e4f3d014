//! Caches: what the cluster looks like, as far as controllers want to know.
//!
//! * [`kind`]: what is read of a kind and what is stored of it; [`decode`]: from JSON to that, one bad object at a time.
//! * [`store`]: the objects, and the rules by which an older truth never replaces a newer one; [`index`]: finding them by something else than
//!   their key.
//! * [`list`], [`watch`]: how the store is filled and kept; [`live`]: reading past it, where that matters.
//! * [`registry`]: one watch per (cluster, kind, scope), shared by all controllers.
//!
//! kube's `watcher` and reflector are not used: they drop the store while re-listing, cannot tell that an object of ours is newer than a
//! list, have no room for objects that cannot be decoded, need a whole `ObjectMeta`, and their shared streams can deadlock.
//! Changes are handed to subscribers by a plain call that must not block; there is no channel that could fill up.

pub mod decode;
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
use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch as signal};

use self::index::Index;
use self::kind::Kind;
use self::store::{Change, Entry, Store};
use crate::clock::SharedClock;
use crate::cluster::{ApiError, Session};
use crate::metrics::Metrics;
use crate::timings::Timings;

/// Whose objects: of one namespace, of all, or a single one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every namespace, and cluster-scoped kinds.
    All,
    /// One namespace.
    Namespace(String),
    /// One object, so that a role can name it.
    Object(ObjectKey),
}

impl Scope {
    /// The namespace, if it is one.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Namespace(name) => Some(name),
            Self::Object(key) => Some(&*key.namespace).filter(|name| !name.is_empty()),
        }
    }

    /// The path of the collection with the beginning of a query: what follows is joined by `&`.
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
    kind: K,
    scope: Scope,
    session: Session,
    store: Store<K::Stored>,
    /// Indexes that several look into.
    indexes: Mutex<HashMap<&'static str, Arc<Index>>>,
    health: Mutex<Health>,
    synced: signal::Sender<bool>,
    /// Rung when something goes wrong.
    troubled: Notify,
    clock: SharedClock,
    timings: Timings,
    metrics: Arc<Metrics>,
}

/// What is known of the cache's connection.
#[derive(Debug, Clone, Default)]
struct Health {
    /// When the cluster last told us anything.
    heard_at: Option<Duration>,
    /// What went wrong since.
    trouble: Option<ApiError>,
    /// When the watch that is open now was opened.
    opened_at: Option<Duration>,
    /// Whether the watch is too far behind to go on without a list.
    must_list: bool,
}

impl<K: Kind> std::fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("resource", &K::RESOURCE)
            .field("scope", &self.scope)
            .field("objects", &self.store.len())
            .finish_non_exhaustive()
    }
}

impl<K: Kind> Cache<K> {
    /// What is cached under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<Entry<K::Stored>> {
        self.store.get(key)
    }

    /// Whether an answer about `key` was lost, so that only a live read tells the truth.
    pub fn is_uncertain(&self, key: &ObjectKey) -> bool {
        self.store.is_uncertain(key)
    }

    /// Says that an answer about `key` was lost.
    pub fn mark_uncertain(&self, key: &ObjectKey) {
        self.store.mark_uncertain(key);
    }

    /// Keys of all objects, those that cannot be decoded included.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.store.keys()
    }

    /// Keys of the objects for which `wanted` holds; those that cannot be decoded are left out.
    pub fn select(&self, wanted: impl Fn(&K::Stored) -> bool) -> Vec<ObjectKey> {
        self.store.select(wanted)
    }

    /// An index of the objects that are understood, by the terms that `of` makes of each. It agrees with the cache at every moment.
    pub fn index(&self, of: fn(&K::Stored) -> Vec<Arc<str>>) -> Arc<Index> {
        self.index_entries(move |entry| match entry {
            Entry::Known(object) => of(object),
            Entry::Undecodable(_) => Vec::new(),
        })
    }

    /// The index of this name. Whoever asks for it first says how it is made; all others share it, and must mean the same.
    pub fn shared_index(
        &self,
        name: &'static str,
        of: fn(&K::Stored) -> Vec<Arc<str>>,
    ) -> Arc<Index> {
        Arc::clone(self.indexes.lock().entry(name).or_insert_with(|| self.index(of)))
    }

    /// An index of all objects, those that cannot be decoded included: they still have labels and owners.
    pub fn index_entries(
        &self,
        of: impl Fn(&Entry<K::Stored>) -> Vec<Arc<str>> + Send + Sync + 'static,
    ) -> Arc<Index> {
        let index = Arc::<Index>::default();
        self.store.add_indexer(index::keeper(Arc::clone(&index), of));
        index
    }

    /// Calls `attendant` with what an object was and is, for every change from now on, and once for everything that is there already: each change
    /// exactly once, and before anybody else can see it. It runs while the store is locked, so it must be quick and not touch this cache.
    ///
    /// The third argument is the position: everything up to it has been told. What the watch tells is at the position itself; what a list brings is
    /// beyond, and may have changed more than once since.
    pub fn attend(
        &self,
        attendant: impl Fn(Option<&Entry<K::Stored>>, Option<&Entry<K::Stored>>, Version)
        + Send
        + Sync
        + 'static,
    ) {
        self.store.add_indexer(Box::new(attendant));
    }

    /// Looks at everything at once, and at the position: whatever happened up to that version has been told. Nothing changes meanwhile, so it
    /// must be quick.
    pub fn survey<R>(
        &self,
        look: impl FnOnce(Version, &mut dyn Iterator<Item = &Entry<K::Stored>>) -> R,
    ) -> R {
        self.store.survey(look)
    }

    /// Calls `subscriber` for every change from now on, and once for everything that is there already. It must not block.
    pub fn subscribe(&self, subscriber: impl Fn(&Change<'_, K::Stored>) + Send + Sync + 'static) {
        self.store.subscribe(Box::new(subscriber));
    }

    /// Whether the whole list has been seen once.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Returns when the whole list has been seen once.
    pub async fn wait_synced(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        drop(self.synced.subscribe().wait_for(|synced| *synced).await);
    }

    /// Returns `None` when the whole list has been seen once, or what is in the way of that.
    pub async fn wait_synced_or_trouble(&self) -> Option<ApiError> {
        let troubled = async {
            loop {
                // Listening before looking: trouble that comes in between is not missed.
                let mut news = pin!(self.troubled.notified());
                news.as_mut().enable();
                if let Some(trouble) = self.health.lock().trouble.clone() {
                    return trouble;
                }
                news.await;
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

/// A cache of whatever kind, for readiness and metrics.
pub trait AnyCache: Send + Sync {
    /// The kind.
    fn resource(&self) -> Resource;
    /// The scope.
    fn scope(&self) -> &Scope;
    /// How it is.
    fn state(&self) -> CacheState;
    /// Keys of all objects, those that cannot be decoded included.
    fn keys(&self) -> Vec<ObjectKey>;
    /// Identity and version of an object, also of one that cannot be decoded.
    fn meta(&self, key: &ObjectKey) -> Option<Meta>;
    /// Returns when the whole list has been seen once.
    fn wait_synced(&self) -> BoxFuture<'_, ()>;
    /// Lists everything once and makes the store agree with it.
    fn verify(&self) -> BoxFuture<'_, Result<usize, ApiError>>;
}

/// How a cache is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheState {
    /// Whether the whole list has been seen once.
    pub synced: bool,
    /// How many objects it holds.
    pub objects: usize,
    /// How many of them cannot be decoded.
    pub undecodable: usize,
    /// How long ago the cluster last told us anything.
    pub age: Option<Duration>,
    /// What went wrong since.
    pub trouble: Option<String>,
}

impl<K: Kind> AnyCache for Cache<K> {
    fn resource(&self) -> Resource {
        K::RESOURCE
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn keys(&self) -> Vec<ObjectKey> {
        Self::keys(self)
    }

    fn meta(&self, key: &ObjectKey) -> Option<Meta> {
        self.get(key).map(|entry| entry.meta().clone())
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
            trouble: health.trouble.map(|error| error.to_string()),
        }
    }
}

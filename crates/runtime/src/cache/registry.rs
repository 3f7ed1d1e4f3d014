//! One watch per (cluster, kind, scope), shared by all controllers and opened on first use.
//!
//! An *opened* cache stays for the life of the process. A *held* cache is closed with its last holder; it is for
//! short-lived scopes such as a single Secret.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use machinist_api::resource::Resource;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch as signal};
use tokio_util::sync::CancellationToken;

use super::kind::Kind;
use super::store::Store;
use super::{AnyCache, Cache, Health, Scope};
use crate::clock::SharedClock;
use crate::cluster::Cluster;
use crate::messages;
use crate::metrics::Metrics;
use crate::tasks::Tasks;
use crate::timings::Timings;
use crate::user_agent::UserAgent;

type CacheId = (String, TypeId, Resource, Scope);
type Open = Mutex<HashMap<CacheId, Opened>>;

pub struct Caches {
    open: Arc<Open>,
    clock: SharedClock,
    timings: Timings,
    metrics: Arc<Metrics>,
    tasks: Tasks,
}

struct Opened {
    typed: Arc<dyn Any + Send + Sync>,
    any: Arc<dyn AnyCache>,
    hold: Weak<Hold>,
    /// Set if the cache stays for the life of the process.
    kept: Option<Arc<Hold>>,
}

#[derive(Debug)]
struct Hold {
    id: CacheId,
    stop: CancellationToken,
    open: Weak<Open>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(open) = self.open.upgrade() {
            let mut open = open.lock();
            // It may have been reopened since the last holder released it.
            let closed = open.get(&self.id).is_some_and(|opened| opened.hold.strong_count() == 0);
            let closed = closed.then(|| open.remove(&self.id));
            // Subscribers may run any code when dropped: not under the lock.
            drop(open);
            drop(closed);
        }
    }
}

#[derive(Debug)]
pub struct Held<K: Kind> {
    cache: Arc<Cache<K>>,
    _hold: Arc<Hold>,
}

impl<K: Kind> Deref for Held<K> {
    type Target = Cache<K>;

    fn deref(&self) -> &Cache<K> {
        &self.cache
    }
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caches").field("open", &self.open.lock().len()).finish_non_exhaustive()
    }
}

impl Caches {
    /// An empty registry; its caches stop with `tasks`.
    pub fn new(clock: SharedClock, timings: Timings, metrics: Arc<Metrics>, tasks: Tasks) -> Self {
        Self { open: Arc::default(), clock, timings, metrics, tasks }
    }

    /// The cache of a kind, opened on first use; it stays. Only the first `kind` of a resource is used.
    pub fn open<K: Kind>(&self, cluster: &Cluster, scope: Scope, kind: K) -> Arc<Cache<K>> {
        self.find(cluster, scope, kind, true).cache
    }

    /// The cache of a kind, opened on first use, until the last holder drops it. Only the first `kind` of a resource is
    /// used.
    pub fn hold<K: Kind>(&self, cluster: &Cluster, scope: Scope, kind: K) -> Held<K> {
        self.find(cluster, scope, kind, false)
    }

    fn find<K: Kind>(&self, cluster: &Cluster, scope: Scope, kind: K, keep: bool) -> Held<K> {
        let id = (cluster.url.clone(), TypeId::of::<K>(), kind.resource(), scope.clone());
        let mut open = self.open.lock();
        if let Some(opened) = open.get_mut(&id)
            && let Some(hold) = opened.hold.upgrade()
            && let Ok(cache) = Arc::clone(&opened.typed).downcast::<Cache<K>>()
        {
            if keep {
                opened.kept = Some(Arc::clone(&hold));
            }
            return Held { cache, _hold: hold };
        }
        let cache = self.unwatched(cluster, scope, kind);
        let stop = self.tasks.stopping().child_token();
        let task = messages::cache_task(cache.kind.resource());
        self.tasks.spawn(task, Arc::clone(&cache).run(stop.clone()));
        let hold = Arc::new(Hold { id: id.clone(), stop, open: Arc::downgrade(&self.open) });
        let opened = Opened {
            typed: cache.clone(),
            any: cache.clone(),
            hold: Arc::downgrade(&hold),
            kept: keep.then(|| Arc::clone(&hold)),
        };
        open.insert(id, opened);
        Held { cache, _hold: hold }
    }

    /// A cache that is not filled: for live reads and writes. It is not shared.
    pub fn unwatched<K: Kind>(&self, cluster: &Cluster, scope: Scope, kind: K) -> Arc<Cache<K>> {
        Arc::new(Cache {
            kind,
            scope,
            session: cluster.session(UserAgent::CACHE),
            store: Store::new(),
            indexes: Mutex::default(),
            health: Mutex::new(Health::default()),
            synced: signal::Sender::new(false),
            troubled: Notify::new(),
            clock: Arc::clone(&self.clock),
            timings: self.timings,
            metrics: Arc::clone(&self.metrics),
        })
    }

    /// Those of one cluster.
    pub(crate) fn of(&self, cluster: &Cluster) -> Vec<Arc<dyn AnyCache>> {
        let open = self.open.lock();
        let of_cluster = open.iter().filter(|((url, ..), _)| *url == cluster.url);
        of_cluster.map(|(_, opened)| Arc::clone(&opened.any)).collect()
    }

    pub fn all(&self) -> Vec<Arc<dyn AnyCache>> {
        self.open.lock().values().map(|opened| Arc::clone(&opened.any)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::CustomResourceDefinitions as Definitions;
    use super::*;
    use crate::clock::ManualClock;

    fn caches() -> (Caches, Cluster) {
        let clock: SharedClock = Arc::new(ManualClock::default());
        let timings = Timings::default();
        let cluster = Cluster::nowhere(&timings);
        (Caches::new(clock, timings, Arc::default(), Tasks::default()), cluster)
    }

    fn one(name: &str) -> Scope {
        Scope::Object(machinist_domain::key::ObjectKey::new("", name))
    }

    #[tokio::test]
    async fn held_cache_is_shared_and_closed_with_the_last_holder() {
        let (caches, cluster) = caches();
        let first = caches.hold(&cluster, one("a"), Definitions);
        let second = caches.hold(&cluster, one("a"), Definitions);
        let _other = caches.hold(&cluster, one("b"), Definitions);
        assert!(Arc::ptr_eq(&first.cache, &second.cache));
        let watching = Arc::downgrade(&first.cache);
        drop(first);
        assert_eq!(caches.all().len(), 2);
        drop(second);
        assert_eq!(caches.all().len(), 1);
        let closed = async {
            while watching.upgrade().is_some() {
                tokio::task::yield_now().await;
            }
        };
        let limit = std::time::Duration::from_secs(30);
        tokio::time::timeout(limit, closed).await.expect("the cache stays open");
        let again = caches.hold(&cluster, one("a"), Definitions);
        assert_eq!(caches.all().len(), 2);
        drop(again);
    }

    #[tokio::test]
    async fn opened_cache_stays_when_holders_are_dropped() {
        let (caches, cluster) = caches();
        let held = caches.hold(&cluster, one("a"), Definitions);
        let opened = caches.open(&cluster, one("a"), Definitions);
        assert!(Arc::ptr_eq(&held.cache, &opened));
        drop(held);
        assert_eq!(caches.all().len(), 1);
        assert!(Arc::ptr_eq(&caches.open(&cluster, one("a"), Definitions), &opened));
    }

    #[tokio::test]
    async fn shared_index_exists_once() {
        let (caches, cluster) = caches();
        let cache = caches.open(&cluster, one("a"), Definitions);
        let index = |name| cache.shared_index(name, |_| Vec::new());
        assert!(Arc::ptr_eq(&index("by owner"), &index("by owner")));
        assert!(!Arc::ptr_eq(&index("by owner"), &index("by node")));
    }
}

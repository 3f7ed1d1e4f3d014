//! One watch per (cluster, kind, scope), shared by all controllers that need it, opened when the first one does.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch as signal};

use super::kind::Kind;
use super::store::Store;
use super::{AnyCache, Cache, Health, Scope};
use crate::clock::SharedClock;
use crate::cluster::Cluster;
use crate::metrics::Metrics;
use crate::tasks::Tasks;
use crate::timings::Timings;
use crate::user_agent::UserAgent;

type CacheId = (String, TypeId, Scope);

/// All caches of the process.
pub struct Caches {
    open: Mutex<HashMap<CacheId, Opened>>,
    clock: SharedClock,
    timings: Timings,
    metrics: Arc<Metrics>,
    tasks: Tasks,
}

#[derive(Clone)]
struct Opened {
    typed: Arc<dyn Any + Send + Sync>,
    any: Arc<dyn AnyCache>,
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caches").field("open", &self.open.lock().len()).finish_non_exhaustive()
    }
}

impl Caches {
    /// No caches yet; those that are opened stop with `tasks`.
    pub fn new(clock: SharedClock, timings: Timings, metrics: Arc<Metrics>, tasks: Tasks) -> Self {
        Self { open: Mutex::default(), clock, timings, metrics, tasks }
    }

    /// The cache for a kind, opened now if nobody did before. `kind` is used only by the first.
    pub fn open<K: Kind>(&self, cluster: &Cluster, scope: Scope, kind: K) -> Arc<Cache<K>> {
        let id = (cluster.url().to_owned(), TypeId::of::<K>(), scope.clone());
        let mut open = self.open.lock();
        if let Some(opened) = open.get(&id)
            && let Ok(cache) = Arc::clone(&opened.typed).downcast::<Cache<K>>()
        {
            return cache;
        }
        let cache = Arc::new(Cache {
            kind,
            scope,
            session: cluster.session(UserAgent::CACHE),
            store: Store::new(),
            health: Mutex::new(Health::default()),
            synced: signal::Sender::new(false),
            troubled: Notify::new(),
            clock: Arc::clone(&self.clock),
            timings: self.timings,
            metrics: Arc::clone(&self.metrics),
        });
        let opened = Opened { typed: cache.clone(), any: cache.clone() };
        open.insert(id, opened);
        self.tasks.spawn(Arc::clone(&cache).run(self.tasks.stopping()));
        cache
    }

    /// Every cache that is open, for readiness and metrics.
    pub fn all(&self) -> Vec<Arc<dyn AnyCache>> {
        self.open.lock().values().map(|opened| Arc::clone(&opened.any)).collect()
    }
}

//! Whether this cluster is OpenShift, and whether OpenShift's own annotator is alive beside us.
//!
//! What only OpenShift has is not even watched elsewhere. Whether the rival is alive is judged by our own clock and by what we saw of its
//! Lease, not by the times that it writes. Nobody is told "no" before the first list is there, except where we may not look at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::kind::{CustomResourceDefinitions, Kind};
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use crate::kinds::Leases;

/// The Lease is renewed every 20 s or so, and lasts for two minutes.
const ALIVE_FOR: Duration = Duration::from_secs(120);

/// The part of a request's time that a first list is waited for. It is there at once, or we may not see it.
const PATIENCE_SHARE: u32 = 6;

/// Knows whether this cluster is OpenShift.
#[derive(Debug, Clone)]
pub struct OpenShift {
    definitions: Arc<Cache<CustomResourceDefinitions>>,
    first_list: Arc<FirstList>,
}

/// Waits for the first list of a cache. Where it does not come, we may not look: only the first who ask wait for that long.
#[derive(Debug)]
struct FirstList {
    patience: Duration,
    given_up: AtomicBool,
}

impl FirstList {
    fn new(shared: &Shared) -> Self {
        let patience = shared.timings.request / PATIENCE_SHARE;
        Self { patience, given_up: AtomicBool::new(false) }
    }

    async fn of<K: Kind>(&self, cache: &Cache<K>) {
        if !cache.is_synced() && !self.given_up.load(Ordering::Relaxed) {
            let synced = tokio::time::timeout(self.patience, cache.wait_synced()).await;
            self.given_up.fetch_or(synced.is_err(), Ordering::Relaxed);
        }
    }
}

impl OpenShift {
    /// Looks at the control cluster.
    pub fn new(shared: &Shared) -> Self {
        let definitions = CustomResourceDefinitions;
        Self {
            definitions: shared.caches.open(&shared.control, Scope::All, definitions),
            first_list: Arc::new(FirstList::new(shared)),
        }
    }

    /// Whether it is OpenShift: whether the kind of its settings is served.
    pub async fn is_here(&self) -> bool {
        self.first_list.of(&self.definitions).await;
        self.definitions.get(&key()).is_some()
    }

    /// Calls `listener` when it turns out to be OpenShift, which may be late.
    pub fn when_here(&self, listener: impl Fn() + Send + Sync + 'static) {
        let key = key();
        self.definitions.subscribe(move |change| {
            if *change.key == key && change.before.is_none() && change.after.is_some() {
                listener();
            }
        });
    }
}

fn key() -> ObjectKey {
    ObjectKey::new("", INFRASTRUCTURES.crd_name())
}

/// OpenShift's own annotator, as its Lease shows it.
#[derive(Debug)]
pub struct Rival {
    shared: Arc<Shared>,
    openshift: OpenShift,
    /// Opened when this turns out to be OpenShift.
    watch: Mutex<Option<Arc<Renewal>>>,
}

#[derive(Debug)]
struct Renewal {
    seen: Arc<Mutex<Option<Duration>>>,
    clock: SharedClock,
    cache: Arc<Cache<Leases>>,
    first_list: FirstList,
}

impl Rival {
    /// A rival in the control cluster. Where its Lease does not exist or may not be seen, there is none.
    pub fn new(shared: &Arc<Shared>, openshift: OpenShift) -> Self {
        Self { shared: Arc::clone(shared), openshift, watch: Mutex::default() }
    }

    /// Whether it has renewed its Lease lately.
    pub async fn is_alive(&self) -> bool {
        if !self.openshift.is_here().await {
            return false;
        }
        let renewal = Arc::clone(self.watch.lock().get_or_insert_with(|| watch(&self.shared)));
        renewal.first_list.of(&renewal.cache).await;
        let seen = *renewal.seen.lock();
        seen.is_some_and(|at| renewal.clock.uptime().saturating_sub(at) < ALIVE_FOR)
    }
}

fn watch(shared: &Shared) -> Arc<Renewal> {
    let key = ObjectKey::new("openshift-machine-api", "cluster-api-provider-aws-leader");
    let cache = shared.caches.open(&shared.control, Scope::Object(key), Leases);
    let seen = Arc::<Mutex<Option<Duration>>>::default();
    let (heard, clock) = (Arc::clone(&seen), Arc::clone(&shared.clock));
    cache.subscribe(move |change| {
        let before = change.before.map(|entry| entry.meta().version);
        let after = change.after.map(|entry| entry.meta().version);
        if after.is_none() {
            *heard.lock() = None;
        } else if before != after {
            *heard.lock() = Some(clock.uptime());
        }
    });
    let clock = Arc::clone(&shared.clock);
    Arc::new(Renewal { seen, clock, cache, first_list: FirstList::new(shared) })
}

//! Detects OpenShift (on other clusters, nothing of it is watched), and whether its own annotator is running. Without
//! the right to list CustomResourceDefinitions, discovery tells which kinds are served.
//!
//! The annotator counts as running while its Lease changes, measured by our clock. In the first list no change was seen
//! yet, so there `renewTime` is compared with our time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{LEASE_MACHINE, OPENSHIFT_NAMESPACE};
use machinist_api::resource::{INFRASTRUCTURES, Resource};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::kind::CustomResourceDefinitions;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;
use tracing::warn;

use crate::discovery::Discovery;
use crate::first_list::{FirstList, Target, Unreadable};
use crate::kinds::{Lease, Leases};

/// The duration of the Lease, which is renewed every 20 s.
const ALIVE_FOR: Duration = Duration::from_secs(120);

/// The share of the request timeout for the first list of the Lease: it is fast, or forbidden.
const PATIENCE_SHARE: u32 = 6;

#[derive(Debug, Clone)]
pub struct OpenShift {
    definitions: Arc<Cache<CustomResourceDefinitions>>,
    first_list: Arc<FirstList>,
    discovery: Arc<Discovery>,
    /// Keys of CRDs, which every reconcile needs, in the cache.
    keys: Arc<Mutex<HashMap<Resource, ObjectKey>>>,
    warned: Arc<AtomicBool>,
}

impl OpenShift {
    pub fn new(shared: &Shared) -> Self {
        let definitions = CustomResourceDefinitions;
        Self {
            definitions: shared.caches.open(&shared.control, Scope::All, definitions),
            first_list: Arc::new(FirstList::new(shared.timings.request)),
            discovery: Arc::new(Discovery::new(shared)),
            keys: Arc::default(),
            warned: Arc::default(),
        }
    }

    /// Whether OpenShift's Infrastructure is served.
    pub async fn is_here(&self) -> Result<bool, Unreadable> {
        self.serves(INFRASTRUCTURES).await
    }

    /// Whether this kind is served.
    pub(crate) async fn serves(&self, resource: Resource) -> Result<bool, Unreadable> {
        match self.first_list.of(&self.definitions).await {
            Ok(()) => Ok(self.definitions.get(&self.key(resource)).is_some()),
            Err(error) if error.is_forbidden() => {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    warn!(%error, "using discovery instead of CustomResourceDefinitions");
                }
                let target = || Target::Other(format!("/apis/{}", resource.api_version()));
                let served = self.discovery.serves(resource).await;
                served.map_err(|error| Unreadable::new(&target(), error))
            }
            Err(error) => Err(error),
        }
    }

    /// Calls `listener` when the CRD appears; without the right to watch CRDs, never.
    pub(crate) fn when_served(
        &self,
        resource: Resource,
        listener: impl Fn() + Send + Sync + 'static,
    ) {
        let key = self.key(resource);
        self.definitions.subscribe(move |change| {
            if *change.key == key && change.before.is_none() && change.after.is_some() {
                listener();
            }
        });
    }

    fn key(&self, resource: Resource) -> ObjectKey {
        let mut keys = self.keys.lock();
        keys.entry(resource).or_insert_with(|| ObjectKey::new("", resource.crd_name())).clone()
    }
}

/// OpenShift's own annotator, observed by its Lease.
#[derive(Debug)]
pub struct Rival {
    shared: Arc<Shared>,
    openshift: OpenShift,
    renewal: OnceLock<Renewal>,
}

#[derive(Debug)]
struct Renewal {
    /// The uptime of the last renewal.
    seen: Arc<Mutex<Option<Duration>>>,
    cache: Arc<Cache<Leases>>,
    first_list: FirstList,
    warned: AtomicBool,
}

impl Rival {
    /// Reads the control cluster.
    pub fn new(shared: &Arc<Shared>, openshift: OpenShift) -> Self {
        Self { shared: Arc::clone(shared), openshift, renewal: OnceLock::new() }
    }

    /// Whether it has renewed its Lease recently. Without the right to read the Lease it counts as alive: OpenShift
    /// runs it by default, and it rewrites longer lists of labels for ever.
    pub async fn is_alive(&self) -> bool {
        if !self.openshift.is_here().await.unwrap_or(false) {
            return false;
        }
        let renewal = self.renewal.get_or_init(|| watch(&self.shared));
        match renewal.first_list.of(&renewal.cache).await {
            Ok(()) => {}
            Err(error) if error.is_forbidden() => {
                if !renewal.warned.swap(true, Ordering::Relaxed) {
                    warn!(%error, lease = LEASE_MACHINE, "assuming that OpenShift's annotator runs");
                }
                return true;
            }
            Err(_) => return false,
        }
        let seen = *renewal.seen.lock();
        seen.is_some_and(|at| self.shared.clock.uptime().saturating_sub(at) < ALIVE_FOR)
    }
}

fn watch(shared: &Shared) -> Renewal {
    let key = ObjectKey::new(OPENSHIFT_NAMESPACE, LEASE_MACHINE);
    let cache = shared.caches.open(&shared.control, Scope::Object(key), Leases);
    let seen = Arc::<Mutex<Option<Duration>>>::default();
    let (heard, clock) = (Arc::clone(&seen), Arc::clone(&shared.clock));
    cache.subscribe(move |change| {
        let version = |entry: Option<&Entry<Lease>>| entry.map(|entry| entry.meta().version);
        if version(change.before) == version(change.after) {
            return;
        }
        let alive = match change.after {
            Some(Entry::Known(lease)) => {
                is_alive(change.before.is_none(), lease.held, lease.renewed, clock.now())
            }
            _ => false,
        };
        *heard.lock() = alive.then(|| clock.uptime());
    });
    let first_list = FirstList::new(shared.timings.request / PATIENCE_SHARE);
    Renewal { seen, cache, first_list, warned: AtomicBool::new(false) }
}

/// Whether the holder is alive. A change is a renewal; a Lease in the first list may be old.
fn is_alive(first: bool, held: bool, renewed: Option<Timestamp>, now: Timestamp) -> bool {
    // A negative age means that the holder's clock is ahead.
    let age = |renewed| Duration::try_from(now.duration_since(renewed)).unwrap_or_default();
    let recent = |renewed| age(renewed) < ALIVE_FOR;
    held && (!first || renewed.is_some_and(recent))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn alive(first: bool, held: bool, seconds_ago: Option<i64>) -> bool {
        let renewed = seconds_ago.map(|seconds| NOW - SignedDuration::from_secs(seconds));
        is_alive(first, held, renewed, NOW)
    }

    #[test]
    fn the_first_list_counts_only_with_a_recent_renewal() {
        assert!(alive(true, true, Some(0)));
        assert!(alive(true, true, Some(119)));
        assert!(alive(true, true, Some(-5)), "its clock is ahead of ours");
        assert!(!alive(true, true, Some(120)));
        assert!(!alive(true, true, Some(30 * 24 * 3600)));
        assert!(!alive(true, true, None));
    }

    #[test]
    fn later_every_change_counts() {
        assert!(alive(false, true, Some(3600)));
        assert!(alive(false, true, None));
    }

    #[test]
    fn a_released_lease_has_no_holder() {
        assert!(!alive(true, false, Some(0)));
        assert!(!alive(false, false, Some(0)));
    }
}

//! Whether this cluster is OpenShift, and whether OpenShift's own annotator is alive beside us.
//!
//! What only OpenShift has is not even watched elsewhere. Nobody is told "no" before the first list is there: who cannot find out is told so. The
//! exception is a role without the right to see definitions, where a warning is logged and the cluster passes for one that is not OpenShift.
//!
//! Whether the rival is alive is judged by our own clock and by the changes that we see of its Lease. Only at first sight, when there was no
//! change yet, the time that it wrote is believed. Where the Lease cannot be seen, there is no rival.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{LEASE_MACHINE, OPENSHIFT_NAMESPACE};
use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::kind::CustomResourceDefinitions;
use machinist_runtime::cache::store::{Change, Entry};
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;
use tracing::warn;

use crate::first_list::{FirstList, Unreadable};
use crate::kinds::{Lease, Leases};

/// The Lease is renewed every 20 s or so, and lasts for two minutes.
const ALIVE_FOR: Duration = Duration::from_secs(120);

/// The part of a request's time that the first list of the rival's Lease is waited for. It is there at once, or we may not see it.
const PATIENCE_SHARE: u32 = 6;

/// Knows whether this cluster is OpenShift.
#[derive(Debug, Clone)]
pub struct OpenShift {
    definitions: Arc<Cache<CustomResourceDefinitions>>,
    first_list: Arc<FirstList>,
    warned: Arc<AtomicBool>,
}

impl OpenShift {
    /// Looks at the control cluster.
    pub fn new(shared: &Shared) -> Self {
        let definitions = CustomResourceDefinitions;
        Self {
            definitions: shared.caches.open(&shared.control, Scope::All, definitions),
            first_list: Arc::new(FirstList::new(shared.timings.request)),
            warned: Arc::default(),
        }
    }

    /// Whether it is OpenShift: whether the kind of its settings is served. It is not, where we may not see that.
    pub async fn is_here(&self) -> Result<bool, Unreadable> {
        match self.first_list.of(&self.definitions).await {
            Ok(()) => Ok(self.definitions.get(&key()).is_some()),
            Err(error) if error.is_forbidden() => {
                if !self.warned.swap(true, Ordering::Relaxed) {
                    warn!(%error, "taking this for a cluster that is not OpenShift");
                }
                Ok(false)
            }
            Err(error) => Err(error),
        }
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
        if !self.openshift.is_here().await.unwrap_or(false) {
            return false;
        }
        let renewal = Arc::clone(self.watch.lock().get_or_insert_with(|| watch(&self.shared)));
        if renewal.first_list.of(&renewal.cache).await.is_err() {
            return false;
        }
        let seen = *renewal.seen.lock();
        seen.is_some_and(|at| renewal.clock.uptime().saturating_sub(at) < ALIVE_FOR)
    }
}

fn watch(shared: &Shared) -> Arc<Renewal> {
    let key = ObjectKey::new(OPENSHIFT_NAMESPACE, LEASE_MACHINE);
    let cache = shared.caches.open(&shared.control, Scope::Object(key), Leases);
    let seen = Arc::<Mutex<Option<Duration>>>::default();
    let (heard, clock) = (Arc::clone(&seen), Arc::clone(&shared.clock));
    cache.subscribe(move |change| {
        if let Some(sight) = sight(change) {
            *heard.lock() = alive_at(sight, clock.now()).then(|| clock.uptime());
        }
    });
    let clock = Arc::clone(&shared.clock);
    let first_list = FirstList::new(shared.timings.request / PATIENCE_SHARE);
    Arc::new(Renewal { seen, clock, cache, first_list })
}

/// What a change shows of the Lease.
#[derive(Debug, Clone, Copy)]
struct Sight {
    first: bool,
    held: bool,
    renewed: Option<Timestamp>,
}

/// `None` if nothing changed.
fn sight(change: &Change<'_, Lease>) -> Option<Sight> {
    let before = change.before.map(|entry| entry.meta().version);
    let after = change.after.map(|entry| entry.meta().version);
    let (held, renewed) = match change.after {
        Some(Entry::Known(lease)) => (lease.held, lease.renewed),
        Some(Entry::Undecodable(_)) | None => (false, None),
    };
    (before != after).then_some(Sight { first: before.is_none(), held, renewed })
}

/// Whether the holder is alive at the moment of this sight. A Lease that changes is being renewed; one that was there before us may be old.
fn alive_at(sight: Sight, now: Timestamp) -> bool {
    // A negative age, which no `Duration` can be, is that of a clock ahead of ours.
    let age = |renewed| Duration::try_from(now.duration_since(renewed)).unwrap_or_default();
    let recent = |renewed| age(renewed) < ALIVE_FOR;
    sight.held && (!sight.first || sight.renewed.is_some_and(recent))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn alive(first: bool, held: bool, seconds_ago: Option<i64>) -> bool {
        let renewed = seconds_ago.map(|seconds| NOW - SignedDuration::from_secs(seconds));
        alive_at(Sight { first, held, renewed }, NOW)
    }

    #[test]
    fn at_first_sight_only_a_lease_that_was_renewed_lately_is_believed() {
        assert!(alive(true, true, Some(0)));
        assert!(alive(true, true, Some(119)));
        assert!(alive(true, true, Some(-5)), "its clock is ahead of ours");
        assert!(!alive(true, true, Some(120)));
        assert!(!alive(true, true, Some(30 * 24 * 3600)));
        assert!(!alive(true, true, None));
    }

    #[test]
    fn later_a_change_counts_whatever_the_holders_clock_says() {
        assert!(alive(false, true, Some(3600)));
        assert!(alive(false, true, None));
    }

    #[test]
    fn a_lease_that_was_given_back_has_no_holder() {
        assert!(!alive(true, false, Some(0)));
        assert!(!alive(false, false, Some(0)));
    }
}

//! Whether OpenShift's own annotator is alive beside us: it holds a Lease, and renews it.
//!
//! Whether it is alive is judged by our own clock and by what we saw, not by the times that it writes.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use crate::kinds::Leases;

/// The Lease is renewed every 20 s or so, and lasts for two minutes.
const ALIVE_FOR: Duration = Duration::from_secs(120);

/// Watches the Lease of OpenShift's own annotator.
#[derive(Debug)]
pub struct Rival {
    renewed: Arc<Mutex<Option<Duration>>>,
    clock: SharedClock,
}

impl Rival {
    /// Watches in the control cluster. Where the Lease does not exist or may not be seen, there is no rival.
    pub fn new(shared: &Shared) -> Self {
        let key = ObjectKey::new("openshift-machine-api", "cluster-api-provider-aws-leader");
        let cache = shared.caches.open(&shared.control, Scope::Object(key), Leases);
        let (renewed, clock) = (Arc::new(Mutex::new(None)), Arc::clone(&shared.clock));
        let (seen, now) = (Arc::clone(&renewed), Arc::clone(&clock));
        cache.subscribe(move |change| {
            let version = |entry: Option<&machinist_runtime::cache::store::Entry<_>>| {
                entry.map(|entry| entry.meta().version)
            };
            let (before, after) = (version(change.before), version(change.after));
            if after.is_none() {
                *seen.lock() = None;
            } else if before != after {
                *seen.lock() = Some(now.uptime());
            }
        });
        Self { renewed, clock }
    }

    /// Whether it has renewed its Lease lately.
    pub fn is_alive(&self) -> bool {
        let renewed = *self.renewed.lock();
        renewed.is_some_and(|at| self.clock.uptime().saturating_sub(at) < ALIVE_FOR)
    }
}

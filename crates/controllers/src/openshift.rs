//! Whether this cluster is OpenShift, and whether OpenShift's own annotator is alive beside us.
//!
//! What only OpenShift has is not even watched elsewhere. Whether the rival is alive is judged by our own clock and by what we saw of its
//! Lease, not by the times that it writes.

use std::sync::Arc;
use std::time::Duration;

use machinist_api::resource::INFRASTRUCTURES;
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::kind::CustomResourceDefinitions;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use crate::kinds::Leases;

/// The Lease is renewed every 20 s or so, and lasts for two minutes.
const ALIVE_FOR: Duration = Duration::from_secs(120);

/// Knows whether this cluster is OpenShift.
#[derive(Debug, Clone)]
pub struct OpenShift {
    definitions: Arc<Cache<CustomResourceDefinitions>>,
}

impl OpenShift {
    /// Looks at the control cluster.
    pub fn new(shared: &Shared) -> Self {
        let definitions = CustomResourceDefinitions;
        Self { definitions: shared.caches.open(&shared.control, Scope::All, definitions) }
    }

    /// Whether it is OpenShift: whether the kind of its settings is served.
    pub fn is_here(&self) -> bool {
        self.definitions.get(&ObjectKey::new("", INFRASTRUCTURES.crd_name())).is_some()
    }
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
    seen: Mutex<Option<Duration>>,
    clock: SharedClock,
}

impl Rival {
    /// A rival in the control cluster. Where its Lease does not exist or may not be seen, there is none.
    pub fn new(shared: &Arc<Shared>, openshift: OpenShift) -> Self {
        Self { shared: Arc::clone(shared), openshift, watch: Mutex::default() }
    }

    /// Whether it has renewed its Lease lately.
    pub fn is_alive(&self) -> bool {
        if !self.openshift.is_here() {
            return false;
        }
        let renewal = self.watch.lock().get_or_insert_with(|| watch(&self.shared)).clone();
        let seen = *renewal.seen.lock();
        seen.is_some_and(|at| renewal.clock.uptime().saturating_sub(at) < ALIVE_FOR)
    }
}

fn watch(shared: &Shared) -> Arc<Renewal> {
    let renewal = Arc::new(Renewal { seen: Mutex::default(), clock: Arc::clone(&shared.clock) });
    let key = ObjectKey::new("openshift-machine-api", "cluster-api-provider-aws-leader");
    let cache = shared.caches.open(&shared.control, Scope::Object(key), Leases);
    let heard = Arc::clone(&renewal);
    cache.subscribe(move |change| {
        let before = change.before.map(|entry| entry.meta().version);
        let after = change.after.map(|entry| entry.meta().version);
        if after.is_none() {
            *heard.seen.lock() = None;
        } else if before != after {
            *heard.seen.lock() = Some(heard.clock.uptime());
        }
    });
    renewal
}

//! Metrics in the Prometheus text format. The registry is a value, not a global, so that each test has its own.
//!
//! [`Metrics`] has those of the runtime. A controller adds its own as a [`MetricSet`].

mod registry;

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Weak};
use std::time::Duration;

use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

pub use self::registry::{Description, Registry};
use crate::cache::{AnyCache, CacheState};
use crate::queue::Queue;

/// Metrics that a controller or the program adds to those of the runtime.
pub trait MetricSet: Send + Sync + 'static {
    /// The prefix of their names.
    const PREFIX: &'static str = "machinist";

    /// Creates the metrics and registers them.
    fn register(registry: &mut Registry) -> Self;
}

/// Every metric of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    sets: Mutex<Vec<(Registry, Arc<dyn Any + Send + Sync>)>>,
    reconciles: Family<ReconcileLabels, Counter>,
    durations: Family<ControllerLabels, Histogram>,
    depths: Family<ControllerLabels, Gauge>,
    queues: Mutex<BTreeMap<&'static str, Weak<Queue>>>,
    leaders: Family<ControllerLabels, Gauge>,
    lease_holders: Family<LeaseLabels, Gauge>,
    writes: Family<WriteLabels, Counter>,
    live_reads: Family<KindLabels, Counter>,
    repairs: Family<KindLabels, Counter>,
    events: Family<EventLabels, Counter>,
    cloud_calls: Family<CloudLabels, Counter>,
    cloud_writes: Family<CloudWriteLabels, Counter>,
    cache_synced: Family<KindLabels, Gauge>,
    cache_objects: Family<KindLabels, Gauge>,
    cache_undecodable: Family<KindLabels, Gauge>,
    cache_age: Family<KindLabels, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    lease: String,
    holder: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    party: &'static str,
    verb: &'static str,
    kind: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CloudLabels {
    operation: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CloudWriteLabels {
    controller: &'static str,
    provider: &'static str,
    verb: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    reason: &'static str,
    result: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("machinist");
        let metrics = Self {
            durations: Family::new_with_constructor(reconcile_histogram),
            reconciles: Family::default(),
            depths: Family::default(),
            queues: Mutex::default(),
            leaders: Family::default(),
            lease_holders: Family::default(),
            writes: Family::default(),
            live_reads: Family::default(),
            repairs: Family::default(),
            events: Family::default(),
            cloud_calls: Family::default(),
            cloud_writes: Family::default(),
            cache_synced: Family::default(),
            cache_objects: Family::default(),
            cache_undecodable: Family::default(),
            cache_age: Family::default(),
            sets: Mutex::default(),
            registry: Registry::default(),
        };
        let reg = &mut registry;
        reg.register("reconcile", "Reconciles, by result", metrics.reconciles.clone());
        reg.register(
            "reconcile_duration_seconds",
            "Duration of a reconcile",
            metrics.durations.clone(),
        );
        reg.register("queue_depth", "Keys in the queue", metrics.depths.clone());
        reg.register("leader", "1 if this process holds the lease", metrics.leaders.clone());
        reg.register("lease_holder", "1 for the holder of a lease", metrics.lease_holders.clone());
        reg.register("writes", "Writes to Kubernetes", metrics.writes.clone());
        reg.register("live_reads", "Live reads that bypass the cache", metrics.live_reads.clone());
        reg.register(
            "cache_repairs",
            "Cached objects that a resync corrected",
            metrics.repairs.clone(),
        );
        reg.register("events", "Events, by reason and result", metrics.events.clone());
        reg.register("cloud_calls", "Cloud API calls", metrics.cloud_calls.clone());
        reg.register(
            "cloud_writes",
            "Cloud API calls that change something",
            metrics.cloud_writes.clone(),
        );
        reg.register(
            "cache_synced",
            "1 if the first list is complete",
            metrics.cache_synced.clone(),
        );
        reg.register("cache_objects", "Objects in the cache", metrics.cache_objects.clone());
        let undecodable = metrics.cache_undecodable.clone();
        reg.register("cache_undecodable_objects", "Objects that cannot be decoded", undecodable);
        reg.register(
            "cache_age_seconds",
            "Seconds since the last message of the watch",
            metrics.cache_age.clone(),
        );
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// The metrics of type `M`, registered on first use. All callers share them.
    pub fn set<M: MetricSet>(&self) -> Arc<M> {
        let mut sets = self.sets.lock();
        let known = sets.iter().find_map(|(_, set)| Arc::clone(set).downcast::<M>().ok());
        known.unwrap_or_else(|| {
            let mut registry = Registry::with_prefix(M::PREFIX);
            let set = Arc::new(M::register(&mut registry));
            sets.push((registry, Arc::clone(&set) as _));
            set
        })
    }

    /// Every registered metric, sorted by name.
    pub fn descriptions(&self) -> Vec<Description> {
        let mut all = self.registry.descriptions().to_vec();
        all.extend(self.sets.lock().iter().flat_map(|(set, _)| set.descriptions().to_vec()));
        all.sort();
        all
    }

    /// Counts a finished reconcile.
    pub fn reconciled(&self, controller: &'static str, result: &'static str, took: Duration) {
        self.reconciles.get_or_create(&ReconcileLabels { controller, result }).inc();
        self.durations.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
    }

    /// Registers the queue of a controller. Its depth is read at every scrape.
    pub fn queue(&self, controller: &'static str, queue: &Arc<Queue>) {
        self.queues.lock().insert(controller, Arc::downgrade(queue));
    }

    /// Whether this process holds the controller's lease.
    pub fn leader(&self, controller: &'static str, leads: bool) {
        self.leaders.get_or_create(&ControllerLabels { controller }).set(i64::from(leads));
    }

    /// Shows the new holder of a lease. An empty name means no holder.
    pub fn lease_changed_hands(&self, lease: &ObjectKey, before: &str, holder: &str) {
        let labels =
            |holder: &str| LeaseLabels { lease: lease.to_string(), holder: holder.to_owned() };
        self.lease_holders.remove(&labels(before));
        if !holder.is_empty() {
            self.lease_holders.get_or_create(&labels(holder)).set(1);
        }
    }

    /// Counts a write that was sent, refused or skipped.
    pub fn wrote(
        &self,
        party: &'static str,
        verb: &'static str,
        resource: Resource,
        result: &'static str,
    ) {
        let labels = WriteLabels { party, verb, kind: resource.kind, result };
        self.writes.get_or_create(&labels).inc();
    }

    /// Counts a live read.
    pub fn live_read(&self, resource: Resource) {
        self.live_reads.get_or_create(&KindLabels { kind: resource.kind }).inc();
    }

    /// Counts objects that a resync corrected.
    pub fn repaired(&self, resource: Resource, count: usize) {
        let labels = KindLabels { kind: resource.kind };
        self.repairs.get_or_create(&labels).inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Counts an Event that was written, failed, or was skipped by the rate limit.
    pub fn event(&self, reason: &'static str, result: &'static str) {
        self.events.get_or_create(&EventLabels { reason, result }).inc();
    }

    /// Counts a cloud API call.
    pub fn cloud_called(&self, operation: &'static str, result: &'static str) {
        self.cloud_calls.get_or_create(&CloudLabels { operation, result }).inc();
    }

    /// Counts a call that changes the cloud: answered, refused or skipped.
    pub fn changed_cloud(
        &self,
        controller: &'static str,
        provider: &'static str,
        verb: &'static str,
        result: &'static str,
    ) {
        let labels = CloudWriteLabels { controller, provider, verb, result };
        self.cloud_writes.get_or_create(&labels).inc();
    }

    /// All metrics as text, with the current state of caches and queues.
    pub fn encode(&self, caches: &[Arc<dyn AnyCache>]) -> Result<String, std::fmt::Error> {
        for (controller, queue) in &*self.queues.lock() {
            let depth = queue.upgrade().map_or(0, |queue| queue.depth());
            self.depths.get_or_create(&ControllerLabels { controller }).set(clamp(depth));
        }
        // A kind without an open cache has no series.
        for family in
            [&self.cache_synced, &self.cache_objects, &self.cache_undecodable, &self.cache_age]
        {
            family.clear();
        }
        for (kind, state) in by_kind(caches) {
            let labels = KindLabels { kind };
            self.cache_synced.get_or_create(&labels).set(i64::from(state.synced));
            self.cache_objects.get_or_create(&labels).set(clamp(state.objects));
            self.cache_undecodable.get_or_create(&labels).set(clamp(state.undecodable));
            let age = state.age.unwrap_or_default().as_secs();
            self.cache_age.get_or_create(&labels).set(i64::try_from(age).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        self.registry.encode(&mut text)?;
        for (registry, _) in &*self.sets.lock() {
            registry.encode(&mut text)?;
        }
        prometheus_client::encoding::text::encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Sums up the caches of each kind: one is open for each Secret in use, for instance. The oldest message counts.
fn by_kind(caches: &[Arc<dyn AnyCache>]) -> BTreeMap<&'static str, CacheState> {
    let mut kinds = BTreeMap::<&'static str, CacheState>::new();
    for cache in caches {
        let state = cache.state();
        match kinds.entry(cache.resource().kind) {
            Entry::Vacant(kind) => drop(kind.insert(state)),
            Entry::Occupied(mut kind) => {
                let kind = kind.get_mut();
                kind.synced &= state.synced;
                kind.objects += state.objects;
                kind.undecodable += state.undecodable;
                kind.age = kind.age.max(state.age);
            }
        }
    }
    kinds
}

fn reconcile_histogram() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0])
}

fn clamp(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;
    use crate::timings::Timings;

    #[test]
    fn queue_depth_is_read_at_every_scrape() {
        let (metrics, queue) = (Metrics::default(), Arc::new(Queue::new(Timings::default().retry)));
        metrics.queue("annotator", &queue);
        let depth = |n| format!("machinist_queue_depth{{controller=\"annotator\"}} {n}\n");
        assert!(metrics.encode(&[]).unwrap().contains(&depth(0)));
        queue.add(&ObjectKey::new("ns", "a"));
        queue.add(&ObjectKey::new("ns", "b"));
        assert!(metrics.encode(&[]).unwrap().contains(&depth(2)));
        drop(queue);
        assert!(metrics.encode(&[]).unwrap().contains(&depth(0)));
    }
}

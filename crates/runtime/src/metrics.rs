//! Metrics in the Prometheus text format: [`Metrics`] of the runtime, and a [`MetricSet`] of each controller.

mod registry;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;
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
    reconciles: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    depths: Family<Labels<1>, Gauge>,
    leaders: Family<Labels<1>, Gauge>,
    lease_holders: Family<[(&'static str, String); 2], Gauge>,
    pub(crate) writes: Family<Labels<4>, Counter>,
    live_reads: Family<Labels<1>, Counter>,
    repairs: Family<Labels<1>, Counter>,
    events: Family<Labels<2>, Counter>,
    cloud_calls: Family<Labels<2>, Counter>,
    pub(crate) cloud_writes: Family<Labels<4>, Counter>,
    frozen: Family<Labels<2>, Gauge>,
    cache_synced: Family<Labels<1>, Gauge>,
    cache_objects: Family<Labels<1>, Gauge>,
    cache_undecodable: Family<Labels<1>, Gauge>,
    cache_age: Family<Labels<1>, Gauge>,
    queues: Mutex<BTreeMap<&'static str, Vec<Weak<Queue>>>>,
    sets: Mutex<Vec<(Registry, Arc<dyn Any + Send + Sync>)>>,
    registry: Registry,
}

/// Names and values of labels.
pub type Labels<const N: usize> = [(&'static str, &'static str); N];

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("machinist");
        let durations = Family::new_with_constructor(reconcile_histogram as fn() -> _);
        let reg = &mut registry;
        Self {
            reconciles: reg.add("reconcile", "Reconciles, by controller and result"),
            durations: reg.register(
                "reconcile_duration_seconds",
                "Duration of a reconcile, by controller",
                durations,
            ),
            depths: reg.add("queue_depth", "Keys in the queue, by controller"),
            leaders: reg.add(
                "leader",
                "1 if this process leads (it holds the Lease and may write), by controller",
            ),
            lease_holders: reg
                .add("lease_holder", "1 for the holder of a Lease, by lease and holder"),
            writes: reg.add(
                "writes",
                "Writes to Kubernetes, by party (the controller), verb, kind and result",
            ),
            live_reads: reg.add("live_reads", "Live reads that bypass the cache, by kind"),
            repairs: reg.add("cache_repairs", "Cached objects that a resync corrected, by kind"),
            events: reg.add("events", "Events, by reason and result"),
            cloud_calls: reg.add("cloud_calls", "Cloud API calls, by operation and result"),
            cloud_writes: reg.add(
                "cloud_writes",
                "Cloud API calls that change something, by controller, provider, verb and result",
            ),
            frozen: reg.add(
                "frozen",
                "Freezes in force, by reason and scope (cluster, namespace or object)",
            ),
            cache_synced: reg.add("cache_synced", "1 if the first list is complete, by kind"),
            cache_objects: reg.add("cache_objects", "Objects in the cache, by kind"),
            cache_undecodable: reg
                .add("cache_undecodable_objects", "Objects that cannot be decoded, by kind"),
            cache_age: reg
                .add("cache_age_seconds", "Seconds since the last message of the watch, by kind"),
            queues: Mutex::default(),
            sets: Mutex::default(),
            registry,
        }
    }
}

impl Metrics {
    /// The metrics of type `M`, registered on first use. All callers share them.
    pub fn of<M: MetricSet>(&self) -> Arc<M> {
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
        let mut all = self.registry.descriptions.clone();
        all.extend(self.sets.lock().iter().flat_map(|(set, _)| set.descriptions.clone()));
        all.sort();
        all
    }

    pub(crate) fn reconciled(
        &self,
        controller: &'static str,
        result: &'static str,
        took: Duration,
    ) {
        self.reconciles.get_or_create(&[("controller", controller), ("result", result)]).inc();
        self.durations.get_or_create(&[("controller", controller)]).observe(took.as_secs_f64());
    }

    /// Registers the queue of a controller. Its depth is read at every scrape.
    pub(crate) fn queue(&self, controller: &'static str, queue: &Arc<Queue>) {
        self.queues.lock().entry(controller).or_default().push(Arc::downgrade(queue));
    }

    pub(crate) fn leader(&self, controller: &'static str, leads: bool) {
        self.leaders.get_or_create(&[("controller", controller)]).set(i64::from(leads));
    }

    pub(crate) fn frozen(&self, reason: &'static str, scope: &'static str, count: usize) {
        self.frozen.get_or_create(&[("reason", reason), ("scope", scope)]).set(clamp(count));
    }

    pub(crate) fn lease_changed_hands(&self, lease: &ObjectKey, before: &str, holder: &str) {
        let labels = |holder: &str| [("lease", lease.to_string()), ("holder", holder.to_owned())];
        self.lease_holders.remove(&labels(before));
        if !holder.is_empty() {
            self.lease_holders.get_or_create(&labels(holder)).set(1);
        }
    }

    pub(crate) fn live_read(&self, resource: Resource) {
        self.live_reads.get_or_create(&[("kind", resource.kind)]).inc();
    }

    pub(crate) fn repaired(&self, resource: Resource, count: usize) {
        let labels = [("kind", resource.kind)];
        self.repairs.get_or_create(&labels).inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    pub(crate) fn event(&self, reason: &'static str, result: &'static str) {
        self.events.get_or_create(&[("reason", reason), ("result", result)]).inc();
    }

    /// Counts a cloud API call.
    pub fn cloud_called(&self, operation: &'static str, result: &'static str) {
        self.cloud_calls.get_or_create(&[("operation", operation), ("result", result)]).inc();
    }

    /// All metrics as text, with the current state of caches and queues.
    pub fn encode(&self, caches: &[Arc<dyn AnyCache>]) -> Result<String, std::fmt::Error> {
        for (controller, queues) in &*self.queues.lock() {
            let queues = queues.iter().filter_map(Weak::upgrade);
            let depth = queues.map(|queue| queue.depth()).sum::<usize>();
            self.depths.get_or_create(&[("controller", *controller)]).set(clamp(depth));
        }
        // A kind without an open cache has no series.
        for family in
            [&self.cache_synced, &self.cache_objects, &self.cache_undecodable, &self.cache_age]
        {
            family.clear();
        }
        for (kind, state) in by_kind(caches) {
            let labels = [("kind", kind)];
            self.cache_synced.get_or_create(&labels).set(state.synced.into());
            self.cache_objects.get_or_create(&labels).set(clamp(state.objects));
            self.cache_undecodable.get_or_create(&labels).set(clamp(state.undecodable));
            let age = state.age.unwrap_or_default().as_secs();
            self.cache_age.get_or_create(&labels).set(clamp(age));
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
        let add = |kind: &mut CacheState| {
            kind.synced &= state.synced;
            kind.objects += state.objects;
            kind.undecodable += state.undecodable;
            kind.age = kind.age.max(state.age);
        };
        kinds.entry(cache.resource().kind).and_modify(add).or_insert(state);
    }
    kinds
}

fn reconcile_histogram() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0])
}

fn clamp(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
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

//! Metrics in Prometheus' format. One registry, passed by value: no globals, so tests can look at their own.
//!
//! [`machines`] has those that bear OpenShift's names, [`recycler`] those of EventRecyclers.

pub mod machines;
pub mod recycler;

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
use prometheus_client::registry::Registry;

use crate::cache::{AnyCache, CacheState};
use crate::queue::Queue;

/// Every metric of the runtime.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// About machines.
    pub machines: self::machines::MachineMetrics,
    /// About EventRecyclers.
    pub recycler: self::recycler::RecyclerMetrics,
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
    platforms: Family<PlatformLabels, Gauge>,
    type_looks: Family<LookLabels, Counter>,
    catalogue_answers: Family<CatalogueLabels, Counter>,
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
struct PlatformLabels {
    platform: String,
    provider: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookLabels {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CatalogueLabels {
    reason: &'static str,
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
            durations: Family::new_with_constructor(pass_histogram),
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
            platforms: Family::default(),
            type_looks: Family::default(),
            catalogue_answers: Family::default(),
            cache_synced: Family::default(),
            cache_objects: Family::default(),
            cache_undecodable: Family::default(),
            cache_age: Family::default(),
            machines: self::machines::MachineMetrics::default(),
            recycler: self::recycler::RecyclerMetrics::register(&mut registry),
            registry: Registry::default(),
        };
        let reg = &mut registry;
        reg.register("reconcile", "Passes over objects", metrics.reconciles.clone());
        reg.register("reconcile_duration_seconds", "Time of a pass", metrics.durations.clone());
        reg.register("queue_depth", "Keys that wait", metrics.depths.clone());
        reg.register("leader", "1 where this process holds the lease", metrics.leaders.clone());
        reg.register("lease_holder", "1 for who holds a lease", metrics.lease_holders.clone());
        reg.register("writes", "Writes to Kubernetes", metrics.writes.clone());
        reg.register("live_reads", "Reads past the cache", metrics.live_reads.clone());
        reg.register("cache_repairs", "Objects that a verify pass mended", metrics.repairs.clone());
        reg.register("events", "Events about objects", metrics.events.clone());
        reg.register("cloud_calls", "Calls to the cloud", metrics.cloud_calls.clone());
        reg.register("cloud_writes", "Changes to a cloud", metrics.cloud_writes.clone());
        let platforms = metrics.platforms.clone();
        reg.register("platform", "1 for who looks after machines on this platform", platforms);
        let looks = metrics.type_looks.clone();
        reg.register("instance_type_looks", "Questions about instance types", looks);
        let answers = metrics.catalogue_answers.clone();
        reg.register("catalogue_answers", "Answers in place of a cloud that gave none", answers);
        reg.register(
            "cache_synced",
            "1 when the whole list was seen",
            metrics.cache_synced.clone(),
        );
        reg.register("cache_objects", "Objects in the cache", metrics.cache_objects.clone());
        let undecodable = metrics.cache_undecodable.clone();
        reg.register("cache_undecodable_objects", "Objects that are not understood", undecodable);
        reg.register("cache_age_seconds", "Time since the last news", metrics.cache_age.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// A pass over an object has ended.
    pub fn reconciled(&self, controller: &'static str, result: &'static str, took: Duration) {
        self.reconciles.get_or_create(&ReconcileLabels { controller, result }).inc();
        self.durations.get_or_create(&ControllerLabels { controller }).observe(took.as_secs_f64());
    }

    /// The keys of a controller wait here; they are counted whenever somebody looks at the metrics.
    pub fn queue(&self, controller: &'static str, queue: &Arc<Queue>) {
        self.queues.lock().insert(controller, Arc::downgrade(queue));
    }

    /// Whether this process holds the controller's lease.
    pub fn leader(&self, controller: &'static str, leads: bool) {
        self.leaders.get_or_create(&ControllerLabels { controller }).set(i64::from(leads));
    }

    /// A lease has another holder; one line for each lease that somebody holds. An empty name is nobody's.
    pub fn lease_changed_hands(&self, lease: &ObjectKey, before: &str, holder: &str) {
        let labels =
            |holder: &str| LeaseLabels { lease: lease.to_string(), holder: holder.to_owned() };
        self.lease_holders.remove(&labels(before));
        if !holder.is_empty() {
            self.lease_holders.get_or_create(&labels(holder)).set(1);
        }
    }

    /// A write was sent, refused or left out.
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

    /// An object was read past the cache.
    pub fn live_read(&self, resource: Resource) {
        self.live_reads.get_or_create(&KindLabels { kind: resource.kind }).inc();
    }

    /// A verify pass changed objects.
    pub fn repaired(&self, resource: Resource, count: usize) {
        let labels = KindLabels { kind: resource.kind };
        self.repairs.get_or_create(&labels).inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// An Event was written, failed, or left out because of its rate limit.
    pub fn event(&self, reason: &'static str, result: &'static str) {
        self.events.get_or_create(&EventLabels { reason, result }).inc();
    }

    /// The cloud was called.
    pub fn cloud_called(&self, operation: &'static str, result: &'static str) {
        self.cloud_calls.get_or_create(&CloudLabels { operation, result }).inc();
    }

    /// A change to a cloud was answered, refused or left out.
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

    /// The cluster runs on this platform, and this provider looks after its machines; "none" where there is none.
    pub fn platform(&self, platform: &str, provider: &'static str) {
        self.platforms.clear();
        let labels = PlatformLabels { platform: platform.to_owned(), provider };
        self.platforms.get_or_create(&labels).set(1);
    }

    /// A question about an instance type was answered from memory, or not.
    pub fn type_looked(&self, hit: bool) {
        let result = if hit { "hit" } else { "miss" };
        self.type_looks.get_or_create(&LookLabels { result }).inc();
    }

    /// The built-in catalogue said what a machine gives, because the cloud did not, for this reason.
    pub fn catalogue_answered(&self, reason: &'static str) {
        self.catalogue_answers.get_or_create(&CatalogueLabels { reason }).inc();
    }

    /// The whole registry as text, with the state of the caches and queues at this moment.
    pub fn encode(&self, caches: &[Arc<dyn AnyCache>]) -> Result<String, std::fmt::Error> {
        for (controller, queue) in &*self.queues.lock() {
            let depth = queue.upgrade().map_or(0, |queue| queue.depth());
            self.depths.get_or_create(&ControllerLabels { controller }).set(clamp(depth));
        }
        // A kind of which no cache is open any more has no objects, and no line.
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
        prometheus_client::encoding::text::encode_registry(&mut text, &self.registry)?;
        prometheus_client::encoding::text::encode_registry(&mut text, &self.machines.registry)?;
        prometheus_client::encoding::text::encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Several caches may be open for one kind, such as one for each Secret in use: together they have so many objects, all of them are synced or
/// not, and the oldest news counts.
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

fn pass_histogram() -> Histogram {
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
    fn a_queue_is_counted_when_somebody_looks_not_when_a_pass_ends() {
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

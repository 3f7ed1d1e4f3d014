//! How many Machines and MachineSets exist and when they were created, under the names of OpenShift's
//! machine-api-operator. The caches are read at every scrape, so nothing is stored and nothing is done in between.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use jiff::Timestamp;
use machinist_api::resource::{MACHINE_SETS, MACHINES};
use machinist_domain::key::ObjectKey;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache as _, Cache};
use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::kinds::{MachineSets, Machines};

type Described = (&'static str, &'static str);

const MACHINE_ITEMS: Described = ("machine_items", "Machines");
const SET_ITEMS: Described = ("machineset_items", "MachineSets");
const MACHINE_CREATED: Described =
    ("machine_created_timestamp_seconds", "When a Machine that has a phase was created");
const SET_CREATED: Described =
    ("machineset_created_timestamp_seconds", "When a MachineSet was created");
const UP: Described =
    ("mao_collector_up", "1 if the cache that the items are counted in has its first list");

/// The metrics; a controller adds the cache that it reads.
#[derive(Debug)]
pub(crate) struct Inventory(Arc<Caches>);

/// Weak, because caches own the metrics.
#[derive(Debug, Default)]
struct Caches {
    machines: OnceLock<Weak<Cache<Machines>>>,
    sets: OnceLock<Weak<Cache<MachineSets>>>,
}

impl MetricSet for Inventory {
    const PREFIX: &'static str = "mapi";

    fn register(registry: &mut Registry) -> Self {
        let caches = Arc::<Caches>::default();
        let gauges = [MACHINE_ITEMS, SET_ITEMS, MACHINE_CREATED, SET_CREATED, UP];
        registry.collect(&gauges, Collected(Arc::clone(&caches)));
        Self(caches)
    }
}

impl Inventory {
    pub(crate) fn machines(&self, cache: &Arc<Cache<Machines>>) {
        self.0.machines.get_or_init(|| Arc::downgrade(cache));
    }

    pub(crate) fn sets(&self, cache: &Arc<Cache<MachineSets>>) {
        self.0.sets.get_or_init(|| Arc::downgrade(cache));
    }
}

#[derive(Debug)]
struct Collected(Arc<Caches>);

/// What is shown of a kind.
struct Shown<const N: usize> {
    items: Described,
    created: Described,
    synced: bool,
    count: usize,
    /// The labels of each object, and when it was created.
    objects: Vec<([(&'static str, String); N], Timestamp)>,
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let machines = self.0.machines.get().and_then(Weak::upgrade).map(|cache| machines(&cache));
        let sets = self.0.sets.get().and_then(Weak::upgrade).map(|cache| sets(&cache));
        if let Some(machines) = &machines {
            machines.encode(&mut encoder)?;
        }
        if let Some(sets) = &sets {
            sets.encode(&mut encoder)?;
        }
        let up = [machines.map(|shown| shown.up()), sets.map(|shown| shown.up())];
        let (name, help) = UP;
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (kind, up) in up.into_iter().flatten() {
            let labels = [("kind", kind)];
            ConstGauge::new(i64::from(up)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl<const N: usize> Shown<N> {
    /// The kind as the machine-api-operator names it: by its count.
    fn up(&self) -> (String, bool) {
        (format!("{}_{}", Inventory::PREFIX, self.items.0), self.synced)
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (name, help) = self.items;
        let items = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(self.count).unwrap_or(i64::MAX)).encode(items)?;
        let (name, help) = self.created;
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, created) in &self.objects {
            ConstGauge::new(created.as_second()).encode(family.encode_family(labels)?)?;
        }
        Ok(())
    }
}

fn machines(cache: &Cache<Machines>) -> Shown<6> {
    let objects = cache.survey(|_, all| {
        let known = all.filter_map(Entry::known);
        let shown = known.filter_map(|machine| {
            let phase = machine.status.phase?.as_str().to_owned();
            let [name, namespace] = names(&machine.meta.key);
            let id = machine.provider_id.as_deref().unwrap_or_default().to_owned();
            let node = machine.status.node_ref.as_ref().map(|node| node.name.to_string());
            let node = ("node", node.unwrap_or_default());
            let version = ("api_version", MACHINES.api_version());
            let id = ("spec_provider_id", id);
            Some(([name, namespace, id, node, version, ("phase", phase)], machine.created))
        });
        shown.collect()
    });
    let (synced, count) = (cache.state().synced, cache.keys().len());
    Shown { items: MACHINE_ITEMS, created: MACHINE_CREATED, synced, count, objects }
}

fn sets(cache: &Cache<MachineSets>) -> Shown<3> {
    let objects = cache.survey(|_, all| {
        let known = all.filter_map(Entry::known);
        let shown = known.map(|set| {
            let [name, namespace] = names(&set.meta.key);
            ([name, namespace, ("api_version", MACHINE_SETS.api_version())], set.state.created)
        });
        shown.collect()
    });
    let (synced, count) = (cache.state().synced, cache.keys().len());
    Shown { items: SET_ITEMS, created: SET_CREATED, synced, count, objects }
}

fn names(key: &ObjectKey) -> [(&'static str, String); 2] {
    [("name", key.name.to_string()), ("namespace", key.namespace.to_string())]
}

#[cfg(test)]
mod tests {
    use machinist_runtime::metrics::Metrics;

    use super::*;

    #[derive(Debug)]
    struct Sample;

    impl Collector for Sample {
        fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let [name, namespace] = names(&ObjectKey::new("ns", "s"));
            let labels = [name, namespace, ("api_version", MACHINE_SETS.api_version())];
            let objects = vec![(labels, Timestamp::constant(1_800_000_000, 5))];
            let (items, created) = (SET_ITEMS, SET_CREATED);
            let shown = Shown { items, created, synced: true, count: 2, objects };
            assert_eq!(shown.up(), ("mapi_machineset_items".to_owned(), true));
            shown.encode(&mut encoder)
        }
    }

    struct Samples;

    impl MetricSet for Samples {
        const PREFIX: &'static str = Inventory::PREFIX;

        fn register(registry: &mut Registry) -> Self {
            registry.collect(&[], Sample);
            Self
        }
    }

    #[test]
    fn has_the_names_and_labels_of_the_machine_api_operator() {
        let metrics = Metrics::default();
        drop(metrics.of::<Samples>());
        let text = metrics.encode(&[]).unwrap();
        assert!(text.contains("\nmapi_machineset_items 2\n"), "{text}");
        let created = "mapi_machineset_created_timestamp_seconds{name=\"s\",namespace=\"ns\",\
                       api_version=\"machine.openshift.io/v1beta1\"} 1800000000\n";
        assert!(text.contains(created), "{text}");
    }

    #[test]
    fn without_caches_nothing_is_shown() {
        let metrics = Metrics::default();
        drop(metrics.of::<Inventory>());
        let text = metrics.encode(&[]).unwrap();
        assert!(!text.contains("mapi_machine_items "), "{text}");
        assert!(metrics.descriptions().iter().any(|one| one.name == "mapi_machine_items"));
    }
}

//! Metrics about MachineSets, with OpenShift's names.

use machinist_domain::key::ObjectKey;
use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug)]
pub(super) struct MachineSetMetrics([Family<Labels, Gauge>; 3]);

/// The counts in the status of a MachineSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetCounts {
    pub(super) replicas: i64,
    pub(super) available: i64,
    pub(super) ready: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    name: String,
    namespace: String,
}

impl MetricSet for MachineSetMetrics {
    const PREFIX: &'static str = "mapi";

    fn register(registry: &mut Registry) -> Self {
        let families = [
            ("", "Machines of a MachineSet"),
            ("_available", "Available Machines of a MachineSet"),
            ("_ready", "Ready Machines of a MachineSet"),
        ];
        Self(families.map(|(suffix, help)| {
            let family = Family::<Labels, Gauge>::default();
            let name = format!("machine_set_status_replicas{suffix}");
            registry.register(name, help, family.clone());
            family
        }))
    }
}

impl MachineSetMetrics {
    /// Shows the counts of a MachineSet; `None` if it is deleted or cannot be decoded.
    pub(super) fn show(&self, set: &ObjectKey, counts: Option<SetCounts>) {
        let labels = Labels { name: set.name.to_string(), namespace: set.namespace.to_string() };
        let Some(SetCounts { replicas, available, ready }) = counts else {
            for family in &self.0 {
                family.remove(&labels);
            }
            return;
        };
        for (family, count) in self.0.iter().zip([replicas, available, ready]) {
            family.get_or_create(&labels).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_runtime::metrics::Metrics;

    use super::*;

    #[test]
    fn shows_the_counts_of_the_status_and_removes_them_with_the_set() {
        let (all, key) = (Metrics::default(), ObjectKey::new("ns", "s"));
        let metrics = all.set::<MachineSetMetrics>();
        metrics.show(&key, Some(SetCounts { replicas: 3, available: 1, ready: 2 }));
        let text = all.encode(&[]).unwrap();
        for (name, count) in [("", 3), ("_available", 1), ("_ready", 2)] {
            let line = format!(
                r#"mapi_machine_set_status_replicas{name}{{name="s",namespace="ns"}} {count}"#
            );
            assert!(text.contains(&line), "{text}");
        }
        metrics.show(&key, None);
        assert!(!all.encode(&[]).unwrap().contains(r#"name="s""#));
    }
}

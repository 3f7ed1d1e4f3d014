//! Metrics about MachineSets, with OpenShift's names.

use machinist_domain::key::ObjectKey;
use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use crate::kinds::MachineSetStatus;

#[derive(Debug)]
pub(super) struct MachineSetMetrics([Family<Labels, Gauge>; 3]);

type Labels = [(&'static str, String); 2];

impl MetricSet for MachineSetMetrics {
    const PREFIX: &'static str = "mapi";

    fn register(registry: &mut Registry) -> Self {
        let families = [
            ("", "Machines of a MachineSet, by name and namespace"),
            ("_available", "Available Machines of a MachineSet, by name and namespace"),
            ("_ready", "Ready Machines of a MachineSet, by name and namespace"),
        ];
        Self(families.map(|(suffix, help)| {
            registry.add(format!("machine_set_status_replicas{suffix}"), help)
        }))
    }
}

impl MachineSetMetrics {
    /// `status` is `None` if the MachineSet is deleted or cannot be decoded.
    pub(super) fn show(&self, set: &ObjectKey, status: Option<&MachineSetStatus>) {
        let labels = [("name", set.name.to_string()), ("namespace", set.namespace.to_string())];
        let Some(status) = status else {
            for family in &self.0 {
                family.remove(&labels);
            }
            return;
        };
        for (family, count) in self.0.iter().zip([status.replicas, status.available, status.ready])
        {
            family.get_or_create(&labels).set(count.unwrap_or_default().into());
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
        let metrics = all.of::<MachineSetMetrics>();
        let status = MachineSetStatus {
            replicas: Some(3),
            available: Some(1),
            ready: Some(2),
            ..MachineSetStatus::default()
        };
        metrics.show(&key, Some(&status));
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

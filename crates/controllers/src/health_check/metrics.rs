//! Metrics of health checks, with OpenShift's names.

use machinist_domain::key::ObjectKey;
use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug)]
pub(super) struct HealthCheckMetrics {
    covered: Family<Labels, Gauge>,
    successes: Family<Labels, Counter>,
    short_circuit: Family<Labels, Gauge>,
}

type Labels = [(&'static str, String); 2];

impl MetricSet for HealthCheckMetrics {
    const PREFIX: &'static str = "mapi";

    fn register(registry: &mut Registry) -> Self {
        let name = |suffix| format!("machinehealthcheck_{suffix}");
        Self {
            covered: registry
                .add(name("nodes_covered"), "Machines that a health check selects, by name and namespace"),
            successes: registry.add(
                name("remediation_success"),
                "Machines that a health check has deleted, by name and namespace",
            ),
            short_circuit: registry.add(
                name("short_circuit"),
                "1 if more Machines than maxUnhealthy are unhealthy and none is remediated, by name and namespace",
            ),
        }
    }
}

impl HealthCheckMetrics {
    pub(super) fn assessed(&self, check: &ObjectKey, covered: usize, allowed: bool) {
        let labels = labels(check);
        self.covered.get_or_create(&labels).set(i64::try_from(covered).unwrap_or(i64::MAX));
        self.short_circuit.get_or_create(&labels).set(i64::from(!allowed));
    }

    pub(super) fn remediated(&self, check: &ObjectKey) {
        self.successes.get_or_create(&labels(check)).inc();
    }

    /// The health check is deleted.
    pub(super) fn forget(&self, check: &ObjectKey) {
        let labels = labels(check);
        self.covered.remove(&labels);
        self.short_circuit.get_or_create(&labels).set(0);
    }
}

fn labels(check: &ObjectKey) -> Labels {
    [("name", check.name.to_string()), ("namespace", check.namespace.to_string())]
}

#[cfg(test)]
mod tests {
    use machinist_runtime::metrics::Metrics;

    use super::*;

    #[test]
    fn has_the_names_and_labels_of_openshifts_controller() {
        let (all, key) = (Metrics::default(), ObjectKey::new("ns", "c"));
        let metrics = all.of::<HealthCheckMetrics>();
        metrics.assessed(&key, 7, false);
        metrics.remediated(&key);
        let text = all.encode(&[]).unwrap();
        for (name, count) in
            [("nodes_covered", 7), ("remediation_success_total", 1), ("short_circuit", 1)]
        {
            let line =
                format!(r#"mapi_machinehealthcheck_{name}{{name="c",namespace="ns"}} {count}"#);
            assert!(text.contains(&line), "{line} in {text}");
        }
        metrics.forget(&key);
        let text = all.encode(&[]).unwrap();
        assert!(!text.contains("nodes_covered{"), "{text}");
        assert!(text.contains(r#"short_circuit{name="c",namespace="ns"} 0"#), "{text}");
    }
}

//! Metrics about Machines. They have OpenShift's names, because its dashboards and alerts use them.

use std::collections::HashSet;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine::Phase;
use machinist_domain::retry::Category;
use machinist_runtime::metrics::{Labels, MetricSet, Registry};
use parking_lot::Mutex;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::snapshot::Call;

#[derive(Debug)]
pub(super) struct MachineMetrics {
    phases: Family<Labels<1>, Histogram>,
    /// Gauges, because a counter's name would get the suffix `_total`, which OpenShift's do not have.
    failures: [(Call, Family<FailureLabels, Gauge>); 3],
    timeouts: Gauge,
    /// Machines that are counted in `timeouts`.
    timed_out: Mutex<HashSet<Uid>>,
}

type FailureLabels = [(&'static str, String); 3];

impl MetricSet for MachineMetrics {
    const PREFIX: &'static str = "mapi";

    fn register(registry: &mut Registry) -> Self {
        let phases = Family::new_with_constructor(histogram as fn() -> _);
        let text = "Seconds from the creation of a Machine to a phase, by phase";
        let phases = registry.register("machine_phase_transition_seconds", text, phases);
        let failures = [Call::Create, Call::Update, Call::Delete].map(|call| {
            let verb = call.as_str();
            let text =
                format!("Failed attempts to {verb} an instance, by name, namespace and reason");
            (call, registry.add(format!("instance_{verb}_failed"), text))
        });
        let text = "Machines that were not Running 20 minutes after their creation";
        let timeouts = registry.add("machine_creation_timed_out", text);
        Self { phases, failures, timeouts, timed_out: Mutex::default() }
    }
}

impl MachineMetrics {
    /// Observes the age at which a Machine reached a phase, except for deletion.
    pub(super) fn reached(&self, phase: Phase, age: Duration) {
        if phase != Phase::Deleting {
            self.phases.get_or_create(&[("phase", phase.as_str())]).observe(age.as_secs_f64());
        }
    }

    pub(super) fn call_failed(&self, call: Call, machine: &ObjectKey, category: Category) {
        for (_, family) in self.failures.iter().filter(|(of, _)| *of == call) {
            family.get_or_create(&labels(machine, category)).inc();
        }
    }

    /// Counts each Machine once.
    pub(super) fn creation_timed_out(&self, machine: &Uid) {
        if self.timed_out.lock().insert(machine.clone()) {
            self.timeouts.inc();
        }
    }

    pub(super) fn forget(&self, machine: &ObjectKey, uid: &Uid) {
        self.timed_out.lock().remove(uid);
        for (_, family) in &self.failures {
            for category in Category::ALL {
                family.remove(&labels(machine, category));
            }
        }
    }
}

fn labels(machine: &ObjectKey, category: Category) -> FailureLabels {
    [
        ("name", machine.name.to_string()),
        ("namespace", machine.namespace.to_string()),
        ("reason", category.as_str().to_owned()),
    ]
}

fn histogram() -> Histogram {
    Histogram::new([
        5.0, 10.0, 20.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 360.0, 480.0, 600.0,
    ])
}

#[cfg(test)]
mod tests {
    use machinist_runtime::metrics::Metrics;

    use super::*;

    #[test]
    fn has_openshift_names_and_removes_series_of_deleted_machines() {
        let all = Metrics::default();
        let metrics = all.of::<MachineMetrics>();
        let key = ObjectKey::new("ns", "m");
        metrics.reached(Phase::Running, Duration::from_secs(70));
        metrics.reached(Phase::Deleting, Duration::from_secs(90));
        metrics.call_failed(Call::Create, &key, Category::Throttled);
        let seen = all.encode(&[]).unwrap();
        let failed = r#"mapi_instance_create_failed{name="m",namespace="ns",reason="Throttled"} 1"#;
        assert!(seen.contains(failed), "{seen}");
        let reached = r#"mapi_machine_phase_transition_seconds_count{phase="Running"} 1"#;
        assert!(seen.contains(reached) && !seen.contains("Deleting"), "{seen}");
        let uid = Uid("u".into());
        metrics.creation_timed_out(&uid);
        metrics.creation_timed_out(&uid);
        metrics.forget(&key, &uid);
        let seen = all.encode(&[]).unwrap();
        assert!(!seen.contains("reason="), "{seen}");
        assert!(seen.contains("mapi_machine_creation_timed_out 1"), "{seen}");
        assert!(metrics.timed_out.lock().is_empty());
    }
}

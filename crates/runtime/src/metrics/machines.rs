//! Metrics about machines, in OpenShift's names: its dashboards and alerts know them, so they do not begin with `machinist`.

use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::machine::Phase;
use machinist_domain::retry::Category;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The verbs of calls to a cloud that have a metric of their own.
const VERBS: [&str; 3] = ["create", "update", "delete"];

/// Metrics about machines.
#[derive(Debug)]
pub struct MachineMetrics {
    pub(super) registry: Registry,
    phases: Family<PhaseLabels, Histogram>,
    /// One for each of [`VERBS`]. Gauges that only grow: as counters their names would get an end that OpenShift's do not have.
    failures: [Family<FailureLabels, Gauge>; 3],
    timeouts: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    name: String,
    namespace: String,
    reason: &'static str,
}

impl Default for MachineMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("mapi");
        let phases = Family::<PhaseLabels, Histogram>::new_with_constructor(histogram);
        let text = "Seconds from the creation of a machine to a phase";
        registry.register("machine_phase_transition_seconds", text, phases.clone());
        let failures = VERBS.map(|verb| {
            let family = Family::<FailureLabels, Gauge>::default();
            let text = format!("How often the {verb} of an instance failed");
            registry.register(format!("instance_{verb}_failed"), text, family.clone());
            family
        });
        let timeouts = Gauge::default();
        let text = "Creations that took longer than they should";
        registry.register("machine_creation_timed_out", text, timeouts.clone());
        Self { registry, phases, failures, timeouts }
    }
}

impl MachineMetrics {
    /// A machine reached a phase, so long after it was created. Nobody wants to know how old those are that go.
    pub fn reached(&self, phase: Phase, age: Duration) {
        if phase != Phase::Deleting {
            let labels = PhaseLabels { phase: phase.as_str() };
            self.phases.get_or_create(&labels).observe(age.as_secs_f64());
        }
    }

    /// A cloud did not do what it was asked for a machine.
    pub fn instance_failed(&self, verb: &str, machine: &ObjectKey, category: Category) {
        if let Some(at) = VERBS.iter().position(|known| *known == verb) {
            self.failures[at].get_or_create(&labels(machine, category)).inc();
        }
    }

    /// A creation takes longer than it should.
    pub fn creation_timed_out(&self) {
        self.timeouts.inc();
    }

    /// A machine is gone, and with it what is said about it.
    pub fn forget(&self, machine: &ObjectKey) {
        for family in &self.failures {
            for category in Category::ALL {
                family.remove(&labels(machine, category));
            }
        }
    }
}

fn labels(machine: &ObjectKey, category: Category) -> FailureLabels {
    FailureLabels {
        name: machine.name.to_string(),
        namespace: machine.namespace.to_string(),
        reason: category.as_str(),
    }
}

fn histogram() -> Histogram {
    Histogram::new([
        5.0, 10.0, 20.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 360.0, 480.0, 600.0,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(metrics: &MachineMetrics) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &metrics.registry).unwrap();
        text
    }

    #[test]
    fn names_are_those_that_dashboards_know_and_what_is_gone_has_no_line() {
        let metrics = MachineMetrics::default();
        let key = ObjectKey::new("ns", "m");
        metrics.reached(Phase::Running, Duration::from_secs(70));
        metrics.reached(Phase::Deleting, Duration::from_secs(90));
        metrics.instance_failed("create", &key, Category::Throttled);
        let seen = text(&metrics);
        let failed = r#"mapi_instance_create_failed{name="m",namespace="ns",reason="Throttled"} 1"#;
        assert!(seen.contains(failed), "{seen}");
        let reached = r#"mapi_machine_phase_transition_seconds_count{phase="Running"} 1"#;
        assert!(seen.contains(reached) && !seen.contains("Deleting"), "{seen}");
        metrics.forget(&key);
        assert!(!text(&metrics).contains("reason="));
    }
}

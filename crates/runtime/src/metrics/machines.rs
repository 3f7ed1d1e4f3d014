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
    sets: [Family<SetLabels, Gauge>; 3],
}

/// What the status of a MachineSet says of its machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetCounts {
    /// How many there are.
    pub replicas: i64,
    /// How many are available.
    pub available: i64,
    /// How many are ready.
    pub ready: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SetLabels {
    name: String,
    namespace: String,
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
        let sets = [
            ("", "Machines of a MachineSet"),
            ("_available", "Available machines of a MachineSet"),
            ("_ready", "Ready machines of a MachineSet"),
        ];
        let sets = sets.map(|(which, text)| {
            let family = Family::<SetLabels, Gauge>::default();
            let name = format!("machine_set_status_replicas{which}");
            registry.register(name, text, family.clone());
            family
        });
        Self { registry, phases, failures, timeouts, sets }
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

    /// The status of a MachineSet says this; `None`: it is gone, or cannot be read.
    pub fn set_counts(&self, set: &ObjectKey, counts: Option<SetCounts>) {
        let labels = SetLabels { name: set.name.to_string(), namespace: set.namespace.to_string() };
        let Some(SetCounts { replicas, available, ready }) = counts else {
            for family in &self.sets {
                family.remove(&labels);
            }
            return;
        };
        for (family, count) in self.sets.iter().zip([replicas, available, ready]) {
            family.get_or_create(&labels).set(count);
        }
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

    #[test]
    fn the_counts_of_a_set_are_those_of_its_status_and_go_with_it() {
        let (metrics, key) = (MachineMetrics::default(), ObjectKey::new("ns", "s"));
        metrics.set_counts(&key, Some(SetCounts { replicas: 3, available: 1, ready: 2 }));
        let said = text(&metrics);
        for (name, count) in [("", 3), ("_available", 1), ("_ready", 2)] {
            let line = format!(
                r#"mapi_machine_set_status_replicas{name}{{name="s",namespace="ns"}} {count}"#
            );
            assert!(said.contains(&line), "{said}");
        }
        metrics.set_counts(&key, None);
        assert!(!text(&metrics).contains(r#"name="s""#));
    }
}

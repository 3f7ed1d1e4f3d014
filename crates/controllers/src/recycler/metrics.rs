//! Metrics about EventRecyclers. They derive from the stored status, so every replica has them, leader or not.

use std::time::Duration;

use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Results of a recycle. Each counter starts at zero, because `increase()` misses a series that starts at one.
const RESULTS: [&str; 3] = ["Succeeded", "Failed", "DryRun"];

/// Metrics about EventRecyclers.
#[derive(Debug)]
pub struct RecyclerMetrics {
    events: Family<GroupLabels, Gauge>,
    unmapped: Family<RecyclerLabels, Gauge>,
    active: Family<StepLabels, Gauge>,
    ended: Family<ResultLabels, Counter>,
    durations: Family<ResultLabels, Histogram>,
}

/// What the metrics show of a status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecyclerFigures {
    /// Counted events of each group.
    pub events: Vec<(String, i64)>,
    /// Events that are not mapped to a group yet.
    pub unmapped: i64,
    /// Active recycles: group and step.
    pub recycles: Vec<(String, &'static str)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    recycler: String,
    group: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RecyclerLabels {
    recycler: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    recycler: String,
    group: String,
    step: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    recycler: String,
    result: String,
}

impl ResultLabels {
    fn of(recycler: &str, result: &str) -> Self {
        Self { recycler: recycler.into(), result: result.into() }
    }
}

impl MetricSet for RecyclerMetrics {
    fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            events: Family::default(),
            unmapped: Family::default(),
            active: Family::default(),
            ended: Family::default(),
            durations: Family::new_with_constructor(histogram),
        };
        let text = "Counted events in the window, by node group";
        registry.register("recycler_events", text, metrics.events.clone());
        let text = "Events that are not mapped to a node group yet";
        registry.register("recycler_unmapped_events", text, metrics.unmapped.clone());
        let text = "1 for each active recycle, by step";
        registry.register("recycler_active", text, metrics.active.clone());
        let text = "Finished recycles, by result";
        registry.register("recycler_recycles", text, metrics.ended.clone());
        let text = "Duration of recycles, by result";
        registry.register("recycler_recycle_duration_seconds", text, metrics.durations.clone());
        metrics
    }
}

impl RecyclerMetrics {
    /// Shows a changed status. A status that does not exist, before or after, has default figures.
    pub fn changed(&self, recycler: &str, before: &RecyclerFigures, after: &RecyclerFigures) {
        let of_group = |group: &str| GroupLabels { recycler: recycler.into(), group: group.into() };
        let of_step = |(group, step): &(String, &'static str)| StepLabels {
            recycler: recycler.into(),
            group: group.clone(),
            step,
        };
        for (group, _) in &before.events {
            self.events.remove(&of_group(group));
        }
        for (group, count) in &after.events {
            self.events.get_or_create(&of_group(group)).set(*count);
        }
        for recycle in &before.recycles {
            self.active.remove(&of_step(recycle));
        }
        for recycle in &after.recycles {
            self.active.get_or_create(&of_step(recycle)).set(1);
        }
        let labels = RecyclerLabels { recycler: recycler.into() };
        self.unmapped.get_or_create(&labels).set(after.unmapped);
        for result in RESULTS {
            drop(self.ended.get_or_create(&ResultLabels::of(recycler, result)));
        }
    }

    /// Removes the series of a deleted EventRecycler.
    pub fn forget(&self, recycler: &str, before: &RecyclerFigures) {
        self.changed(recycler, before, &RecyclerFigures::default());
        self.unmapped.remove(&RecyclerLabels { recycler: recycler.into() });
        for result in RESULTS {
            self.ended.remove(&ResultLabels::of(recycler, result));
        }
    }

    /// Counts a finished recycle.
    pub fn ended(&self, recycler: &str, result: &str, took: Option<Duration>) {
        let labels = ResultLabels::of(recycler, result);
        self.ended.get_or_create(&labels).inc();
        if let Some(took) = took {
            self.durations.get_or_create(&labels).observe(took.as_secs_f64());
        }
    }
}

/// From a minute to 17 hours: a large group takes hours.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(60.0, 2.0, 11))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(registry: &Registry) -> String {
        let mut text = String::new();
        registry.encode(&mut text).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn removes_series_that_the_status_no_longer_has() {
        let mut registry = Registry::default();
        let metrics = RecyclerMetrics::register(&mut registry);
        let nothing = RecyclerFigures::default();
        let some = RecyclerFigures {
            events: vec![("workers".to_owned(), 7)],
            unmapped: 2,
            recycles: vec![("workers".to_owned(), "Replacing")],
        };
        metrics.changed("er", &nothing, &some);
        let text = shown(&registry);
        for line in [
            r#"recycler_events{recycler="er",group="workers"} 7"#,
            r#"recycler_unmapped_events{recycler="er"} 2"#,
            r#"recycler_active{recycler="er",group="workers",step="Replacing"} 1"#,
            r#"recycler_recycles_total{recycler="er",result="Failed"} 0"#,
        ] {
            assert!(text.contains(line), "{text}");
        }
        metrics.forget("er", &some);
        assert_eq!(shown(&registry), "");
        metrics.ended("er", "Succeeded", Some(Duration::from_secs(90)));
        let text = shown(&registry);
        assert!(text.contains(r#"recycler_recycles_total{recycler="er",result="Succeeded"} 1"#));
        assert!(text.contains(r#"duration_seconds_sum{recycler="er",result="Succeeded"} 90"#));
    }
}

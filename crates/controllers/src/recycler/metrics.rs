//! Metrics about EventRecyclers. They derive from the stored status, so every replica has them, leader or not.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_runtime::metrics::{MetricSet, Registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

/// Results of a recycle. Each counter starts at zero, because `increase()` misses a series that starts at one.
const RESULTS: [&str; 3] = ["Succeeded", "Failed", "DryRun"];
/// Any other result, which another program stored.
const UNKNOWN: &str = "Unknown";

type Labels<const N: usize> = [(&'static str, String); N];

#[derive(Debug)]
pub(super) struct RecyclerMetrics {
    events: Family<Labels<2>, Gauge>,
    unmapped: Family<Labels<1>, Gauge>,
    active: Family<Labels<3>, Gauge>,
    ended: Family<Labels<2>, Counter>,
    durations: Family<Labels<2>, Histogram>,
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
        let text = "Nodes, pods or occurrences in the window (spec.countBy), by recycler and group";
        registry.register("recycler_events", text, metrics.events.clone());
        let text = "Occurrences that are not mapped to a node group yet, by recycler";
        registry.register("recycler_unmapped_events", text, metrics.unmapped.clone());
        let text = "1 for each recycle in progress, by recycler, group and step";
        registry.register("recycler_active", text, metrics.active.clone());
        let text = "Finished recycles, by recycler and result";
        registry.register("recycler_recycles", text, metrics.ended.clone());
        let text = "Duration of recycles, by recycler and result";
        registry.register("recycler_recycle_duration_seconds", text, metrics.durations.clone());
        metrics
    }
}

impl RecyclerMetrics {
    /// Shows a changed status; `None` where there is none, before or after.
    pub(super) fn changed(
        &self,
        recycler: &str,
        before: Option<&EventRecyclerStatus>,
        after: Option<&EventRecyclerStatus>,
    ) {
        let labels = [("recycler", recycler.to_owned())];
        if let Some(before) = before {
            for (labels, _) in counts(recycler, before) {
                self.events.remove(&labels);
            }
            for labels in steps(recycler, before) {
                self.active.remove(&labels);
            }
        }
        let Some(after) = after else {
            self.unmapped.remove(&labels);
            for result in RESULTS.into_iter().chain([UNKNOWN]) {
                let labels = of_result(recycler, result);
                self.ended.remove(&labels);
                self.durations.remove(&labels);
            }
            return;
        };
        for (labels, count) in counts(recycler, after) {
            self.events.get_or_create(&labels).set(count);
        }
        for labels in steps(recycler, after) {
            self.active.get_or_create(&labels).set(1);
        }
        let unmapped = after.unmapped.as_ref().map_or(0, |unmapped| unmapped.count);
        self.unmapped.get_or_create(&labels).set(unmapped);
        for result in RESULTS {
            drop(self.ended.get_or_create(&of_result(recycler, result)));
        }
        // Recycles in the first list ended before this process started.
        let Some(before) = before else { return };
        let is_known =
            |entry: &PastRecycle| before.recycle_history.iter().flatten().any(|old| old == entry);
        let past = after.recycle_history.iter().flatten();
        for entry in past.filter(|entry| !is_known(entry)) {
            let known = RESULTS.into_iter().find(|result| entry.status.as_deref() == Some(*result));
            let labels = of_result(recycler, known.unwrap_or(UNKNOWN));
            self.ended.get_or_create(&labels).inc();
            if let Some(took) = took(entry) {
                self.durations.get_or_create(&labels).observe(took.as_secs_f64());
            }
        }
    }
}

fn counts(recycler: &str, status: &EventRecyclerStatus) -> impl Iterator<Item = (Labels<2>, i64)> {
    let counts = status.event_counts.iter().flatten();
    counts.map(move |(group, count)| {
        ([("recycler", recycler.to_owned()), ("group", group.clone())], *count)
    })
}

fn steps(recycler: &str, status: &EventRecyclerStatus) -> impl Iterator<Item = Labels<3>> {
    // Both lists have the same order; names are unique.
    let names = status.active_recycles.iter().flatten();
    names.zip(status.recycles.iter().flatten()).map(move |(group, recycle)| {
        let step = recycle.step.as_str().to_owned();
        [("recycler", recycler.to_owned()), ("group", group.clone()), ("step", step)]
    })
}

fn of_result(recycler: &str, result: &str) -> Labels<2> {
    [("recycler", recycler.to_owned()), ("result", result.to_owned())]
}

fn took(entry: &PastRecycle) -> Option<Duration> {
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    let took = time(&entry.timestamp)?.duration_since(time(&entry.started)?);
    Duration::try_from(took).ok()
}

/// From a minute to 17 hours: a large group takes hours.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(60.0, 2.0, 11))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let some: EventRecyclerStatus = serde_json::from_value(json!({
            "eventCounts": {"workers": 7}, "unmapped": {"count": 2}, "activeRecycles": ["workers"],
            "recycles": [crate::recycler::samples::recycle("workers", "Replacing")],
        }))
        .unwrap();
        metrics.changed("er", None, Some(&some));
        let text = shown(&registry);
        for line in [
            r#"recycler_events{recycler="er",group="workers"} 7"#,
            r#"recycler_unmapped_events{recycler="er"} 2"#,
            r#"recycler_active{recycler="er",group="workers",step="Replacing"} 1"#,
            r#"recycler_recycles_total{recycler="er",result="Failed"} 0"#,
        ] {
            assert!(text.contains(line), "{text}");
        }
        metrics.changed("er", Some(&some), None);
        assert_eq!(shown(&registry), "");
        let ended: EventRecyclerStatus = serde_json::from_value(json!({"recycleHistory": [{
            "status": "Succeeded", "started": "2026-11-16T01:00:00Z", "timestamp": "2026-11-16T01:01:30Z",
        }]}))
        .unwrap();
        metrics.changed("er", Some(&EventRecyclerStatus::default()), Some(&ended));
        let text = shown(&registry);
        assert!(text.contains(r#"recycler_recycles_total{recycler="er",result="Succeeded"} 1"#));
        assert!(text.contains(r#"duration_seconds_sum{recycler="er",result="Succeeded"} 90"#));
    }

    #[test]
    fn nothing_is_left_of_an_event_recycler_that_is_gone() {
        let mut registry = Registry::default();
        let metrics = RecyclerMetrics::register(&mut registry);
        let nothing = EventRecyclerStatus::default();
        for result in ["Succeeded", "Failed", "DryRun", "Completed", "\u{1b}[2J"] {
            let ended: EventRecyclerStatus = serde_json::from_value(json!({"recycleHistory": [{
                "status": result, "started": "2026-11-16T01:00:00Z", "timestamp": "2026-11-16T01:01:30Z",
            }]}))
            .unwrap();
            metrics.changed("er", Some(&nothing), Some(&ended));
        }
        let text = shown(&registry);
        assert!(text.contains(r#"recycles_total{recycler="er",result="Unknown"} 2"#), "{text}");
        assert!(
            text.contains(r#"duration_seconds_count{recycler="er",result="Failed"} 1"#),
            "{text}"
        );
        metrics.changed("er", Some(&nothing), None);
        assert_eq!(shown(&registry), "");
    }
}

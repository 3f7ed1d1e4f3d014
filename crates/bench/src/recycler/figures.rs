//! `docs/internals/benchmarks.md` explains each figure.

use super::latency::Latency;
use super::live::{Idle, Load};
use super::polling::Polling;
use crate::memory::Memory;
use crate::report::{Report, Target};
use crate::statistics::count;

#[derive(Debug)]
pub(super) struct Series {
    pub(super) events: usize,
    pub(super) load: Load,
    /// Before there was anything.
    pub(super) empty: Memory,
    pub(super) grown: Memory,
    /// Of another process that found all Events there and listed them again.
    pub(super) listed: Memory,
}

#[derive(Debug, Default)]
pub(super) struct Measurements {
    pub(super) series: Vec<Series>,
    pub(super) idle: Option<Idle>,
    pub(super) latency: Option<Latency>,
    pub(super) polling: Option<Polling>,
}

impl Measurements {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new("recycler");
        for series in &self.series {
            add_series(series, &mut report);
        }
        if let Some(idle) = self.idle {
            report.add("idle_requests", count(idle.requests), Target::Exactly(0.0));
            report.add("idle_cpu_ms", idle.cpu_ms, Target::None);
        }
        if let Some(latency) = &self.latency {
            let (ours, watch) = (latency.decision.median(), latency.watch.median());
            report.add("decision_latency_ratio", ours / watch, Target::AtMost(2.0));
            report.add_spread("decision_latency_ms", &latency.decision, Target::None);
            report.add_spread("watch_latency_ms", &latency.watch, Target::None);
        }
        if let (Some(polling), Some(latency)) = (self.polling, &self.latency) {
            let ours = latency.decision.median() / 1e3;
            report.add("polling_time_ratio", polling.seconds / ours, Target::AtLeast(83.0));
            let saved = 100.0 * (1.0 - count(polling.bytes_of_one) / count(polling.bytes));
            report.add("polling_bytes_saved_pct", saved, Target::AtLeast(99.9));
            report.add("polling_seconds", polling.seconds, Target::None);
        }
        report.add_cores();
        report
    }
}

fn add_series(series: &Series, report: &mut Report) {
    let n = series.events;
    let limit = match n {
        10_000 => Target::AtMost(12.0),
        100_000 => Target::AtMost(70.0),
        _ => Target::None,
    };
    let grown = series.grown.anonymous - series.empty.anonymous;
    let listed = series.listed.anonymous - series.empty.anonymous;
    report.add(format!("rss_anon_growth_mib_{n}"), grown.max(listed), limit);
    report.add(format!("rss_anon_growth_mib_live_{n}"), grown, Target::None);
    report.add(format!("rss_anon_growth_mib_listed_{n}"), listed, Target::None);
    report.add(format!("rss_total_mib_{n}"), series.listed.total, Target::None);
    report.add(format!("rss_peak_mib_{n}"), series.listed.peak, Target::None);
    let cpu = series.load.cpu_us_per_event;
    // The target is for the number that most clusters have.
    let name =
        if n == 10_000 { "cpu_us_per_event".to_owned() } else { format!("cpu_us_per_event_{n}") };
    report.add(name, cpu, Target::AtMost(50.0));
    report.add(format!("api_writes_{n}"), count(series.load.writes), Target::None);
}

//! `docs/internals/benchmarks.md` explains each figure.

use super::live::{Idle, Run};
use crate::report::{Report, Target};
use crate::statistics::{Comparison, Samples, count};

/// The size that the targets are for.
const LARGE: usize = 500;

#[derive(Debug)]
pub(super) struct Series {
    pub(super) machines: usize,
    pub(super) times: Comparison,
    pub(super) runs: Vec<Run>,
    pub(super) idle: Option<Idle>,
}

#[derive(Debug, Default)]
pub(super) struct Measurements {
    pub(super) series: Vec<Series>,
    pub(super) concurrency: usize,
}

impl Measurements {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new("aws");
        for series in &self.series {
            if !series.times.limit.is_empty() {
                let target = target(series.machines, 1.5);
                report.add_comparison("", series.machines, &series.times, target);
            }
            calls(series, &mut report);
            memory(series, &mut report);
            let rounds = count(series.runs.len());
            report.add(format!("rounds_{}", series.machines), rounds, Target::None);
        }
        for idle in self.series.iter().filter_map(|series| series.idle) {
            report.add("idle_requests", count(idle.api_requests), Target::Exactly(0.0));
            report.add("idle_cloud_calls", count(idle.cloud_calls), Target::None);
        }
        report.add("raw_concurrency", count(self.concurrency), Target::None);
        report.add_cores();
        report
    }
}

fn target(machines: usize, limit: f64) -> Target {
    if machines == LARGE { Target::AtMost(limit) } else { Target::None }
}

fn calls(series: &Series, report: &mut Report) {
    let n = series.machines;
    let each = |part: fn(&Run) -> usize| -> f64 {
        count(series.runs.iter().map(part).max().unwrap_or_default()) / count(n)
    };
    let cloud = each(|run| run.cloud_calls);
    report.add(format!("cloud_calls_per_machine_{n}"), cloud, target(n, 1.3));
    let writes = each(|run| run.writes);
    report.add(format!("api_writes_per_machine_{n}"), writes, Target::None);
    let events = each(|run| run.events);
    report.add(format!("events_per_machine_{n}"), events, Target::None);
}

fn memory(series: &Series, report: &mut Report) {
    let n = series.machines;
    let of = |part: fn(&Run) -> f64| -> Samples { series.runs.iter().map(part).collect() };
    let growth = of(|run| run.memory.anonymous - run.empty.anonymous);
    report.add_spread(&format!("rss_anon_growth_mib_{n}"), &growth, target(n, 15.0));
    let soon = of(|run| run.soon.anonymous - run.empty.anonymous).median();
    report.add(format!("rss_anon_growth_mib_soon_{n}"), soon, Target::None);
    let total = of(|run| run.memory.total).median();
    report.add(format!("rss_total_mib_{n}"), total, Target::None);
    let peak = of(|run| run.memory.peak).median();
    report.add(format!("rss_peak_mib_{n}"), peak, Target::None);
}

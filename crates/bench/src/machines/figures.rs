//! `docs/internals/benchmarks.md` explains each figure.

use super::live::{Calls, Change, Run};
use super::series::Series;
use crate::report::{Report, Target};
use crate::statistics::{Samples, count};

#[derive(Debug, Default)]
pub(super) struct Measurements {
    pub(super) running: Vec<Series>,
    pub(super) created: Option<Series>,
    pub(super) concurrency: usize,
}

impl Measurements {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new("machines");
        for series in &self.running {
            if !series.times.limit.is_empty() {
                let target = Target::AtMost(1.5);
                report.add_comparison("running_", series.machines, &series.times, target);
            }
            calls(series, &mut report);
            memory(series, &mut report);
            removal(series, &mut report);
            let rounds = count(series.runs.len());
            report.add(format!("rounds_{}", series.machines), rounds, Target::None);
        }
        if let Some(series) = &self.created {
            let target = Target::AtMost(1.4);
            report.add_comparison("create_", series.machines, &series.times, target);
        }
        for idle in self.running.iter().filter_map(|series| series.idle_requests) {
            report.add("idle_requests", count(idle), Target::Exactly(0.0));
        }
        report.add("raw_concurrency", count(self.concurrency), Target::None);
        report.add_cores();
        report
    }
}

fn calls(series: &Series, report: &mut Report) {
    let n = series.machines;
    let most = |part: fn(&Calls) -> usize| -> f64 {
        count(series.runs.iter().map(|run| part(&run.calls)).max().unwrap_or_default())
    };
    let each = |part| most(part) / count(n);
    let writes = each(|calls| calls.writes);
    report.add(format!("api_writes_per_machine_{n}"), writes, Target::AtMost(8.0));
    let events = each(|calls| calls.events);
    report.add(format!("events_per_machine_{n}"), events, Target::AtMost(2.0));
    report.add(format!("refused_writes_{n}"), most(|calls| calls.refused), Target::None);
    report.add(format!("api_reads_{n}"), most(|calls| calls.reads), Target::None);
    let cloud = each(|calls| calls.cloud);
    report.add(format!("cloud_calls_per_machine_{n}"), cloud, Target::None);
}

pub(super) fn memory(series: &Series, report: &mut Report) {
    let n = series.machines;
    let of = |part: fn(&Run) -> f64| -> Samples { series.runs.iter().map(part).collect() };
    let growth = of(|run| run.memory.anonymous - run.empty.anonymous);
    report.add_spread(&format!("rss_anon_growth_mib_{n}"), &growth, Target::AtMost(40.0));
    let soon = of(|run| run.soon.anonymous - run.empty.anonymous).median();
    report.add(format!("rss_anon_growth_mib_soon_{n}"), soon, Target::None);
    let empty = of(|run| run.empty.anonymous).median();
    report.add(format!("rss_anon_mib_empty_{n}"), empty, Target::None);
    if let Some(footprint) = series.runs.iter().find_map(|run| run.footprint) {
        report.add(format!("stored_bytes_per_machine_{n}"), footprint.machine, Target::None);
        report.add(format!("stored_bytes_per_node_{n}"), footprint.node, Target::None);
    }
    let total = of(|run| run.memory.total).median();
    report.add(format!("rss_total_mib_{n}"), total, Target::None);
    let peak = of(|run| run.memory.peak).median();
    report.add(format!("rss_peak_mib_{n}"), peak, Target::None);
}

fn removal(series: &Series, report: &mut Report) {
    let seconds: Samples = series.removals.iter().map(|removal| removal.seconds).collect();
    let key = format!("removal_seconds_{}", series.machines);
    report.add_spread(&key, &seconds, Target::None);
    change_calls("removal", series.machines, &series.removals, report);
}

pub(super) fn change_calls(what: &str, n: usize, changes: &[Change], report: &mut Report) {
    let mut each = |kind: &str, part: fn(&Change) -> usize| {
        let all: Samples = changes.iter().map(|change| count(part(change))).collect();
        report.add(format!("{what}_{kind}_per_machine_{n}"), all.max() / count(n), Target::None);
    };
    each("writes", |change| change.calls.writes);
    each("events", |change| change.calls.events);
    each("cloud_calls", |change| change.calls.cloud);
}

//! `docs/internals/benchmarks.md` explains each figure.

use super::live::Run;
use super::series::Series;
use crate::memory::Memory;
use crate::report::{Report, Target};
use crate::statistics::{Comparison, Samples, count};

#[derive(Debug)]
pub(super) struct Measurements {
    pub(super) empty: Memory,
    pub(super) concurrency: usize,
    pub(super) series: Vec<Series>,
}

/// Up to this many objects the narrow limits hold.
const SMALL: usize = 1000;

impl Measurements {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new("annotator");
        for series in &self.series {
            time(series, &mut report);
            memory(series, &self.empty, &mut report);
            calls(series, &mut report);
            let key = format!("rounds_{}", series.objects);
            report.add(key, count(series.ours.len()), Target::None);
        }
        report.add("rss_anon_mib_empty", self.empty.anonymous, Target::None);
        report.add("rss_total_mib_empty", self.empty.total, Target::None);
        report.add("raw_concurrency", count(self.concurrency), Target::None);
        report.add_cores();
        report
    }
}

pub(super) fn settled(report: &mut Report, requests: usize, allocations: f64) {
    report.add("idle_requests", count(requests), Target::Exactly(0.0));
    report.add("allocations_per_noop_reconcile", allocations, Target::None);
}

fn time(series: &Series, report: &mut Report) {
    if series.ours.is_empty() {
        return;
    }
    let ours = series.ours.iter().map(|run| run.seconds).collect();
    let comparison = Comparison { ours, limit: series.limit.clone() };
    report.add_comparison("", series.objects, &comparison, Target::AtMost(1.3));
}

fn memory(series: &Series, empty: &Memory, report: &mut Report) {
    let n = series.objects;
    let of = |part: fn(&Memory) -> f64| -> Samples {
        series.all().map(|run| part(&run.memory)).collect()
    };
    let growth: Samples = series.all().map(|run| run.memory.anonymous - empty.anonymous).collect();
    let key = format!("rss_anon_growth_mib_{n}");
    let limit = if n <= SMALL { 3.0 } else { 8.0 };
    report.add_spread(&key, &growth, Target::AtMost(limit));
    let limit = if n <= SMALL { Target::AtMost(30.0) } else { Target::None };
    report.add(format!("rss_total_mib_{n}"), of(|memory| memory.total).median(), limit);
    report.add(format!("rss_peak_mib_{n}"), of(|memory| memory.peak).median(), Target::None);
}

fn calls(series: &Series, report: &mut Report) {
    let n = series.objects;
    let most = |part: fn(&Run) -> usize| -> f64 {
        count(series.all().map(part).max().unwrap_or_default())
    };
    let per_object = |part: fn(&Run) -> usize| -> f64 { most(part) / count(n) };
    // Events are counted by themselves: they describe a write, and expire.
    let writes = per_object(|run| run.writes - run.events);
    report.add(format!("api_writes_per_object_{n}"), writes, Target::Exactly(1.0));
    let reads = per_object(|run| run.reads);
    report.add(format!("api_reads_per_object_{n}"), reads, Target::None);
    let events = per_object(|run| run.events);
    report.add(format!("events_per_object_{n}"), events, Target::None);
    report.add(format!("cloud_calls_{n}"), most(|run| run.cloud_calls), Target::AtMost(5.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: f64, writes: usize) -> Run {
        let memory = Memory { anonymous: 7.0, total: 20.0, peak: 30.0 };
        Run { seconds, memory, writes, reads: 3, events: 0, cloud_calls: 2 }
    }

    fn report(recorded: Run, ours: [Run; 3]) -> Report {
        let limit = vec![1.0, 1.0, 2.0, 1.0];
        let series = vec![Series { objects: 100, recorded, limit, ours: ours.to_vec() }];
        let empty = Memory { anonymous: 5.0, total: 15.0, peak: 15.0 };
        Measurements { empty, concurrency: 32, series }.report()
    }

    #[test]
    fn medians_decide_and_one_slow_round_does_not() {
        let report = report(run(9.0, 100), [run(1.2, 100), run(9.0, 100), run(1.2, 100)]);
        assert!(report.is_met(), "{}", report.table());
    }

    #[test]
    fn one_write_or_call_too_many_in_any_run_is_seen() {
        let good = run(1.2, 100);
        assert!(!report(good, [good, run(1.2, 101), good]).is_met());
        let chatty = Run { cloud_calls: 6, ..good };
        assert!(!report(chatty, [good; 3]).is_met());
    }
}

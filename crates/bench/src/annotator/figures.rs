//! From measurements to figures. `docs/benchmarks.md` says what each one means.

use super::live::Run;
use crate::memory::Memory;
use crate::report::{Report, Target};
use crate::statistics::Samples;

/// Everything that was measured.
#[derive(Debug)]
pub(super) struct Measurements {
    pub(super) objects: usize,
    pub(super) empty: Memory,
    pub(super) concurrency: usize,
    /// Seconds of the bare client, two for every run of ours.
    pub(super) limit: Vec<f64>,
    pub(super) ours: Vec<Run>,
    pub(super) idle_requests: usize,
    pub(super) allocations: f64,
}

impl Measurements {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new("annotator");
        self.time(&mut report);
        self.memory(&mut report);
        self.calls(&mut report);
        let n = self.objects;
        let allocations = self.allocations;
        report.add("allocations_per_noop_reconcile", allocations, Target::None);
        report.add("objects", count(n), Target::None);
        report.add("rounds", count(self.ours.len()), Target::None);
        report.add("cores", count(cores()), Target::None);
        report
    }

    fn time(&self, report: &mut Report) {
        let n = self.objects;
        let limit: Samples = self.limit.iter().copied().collect();
        let ours: Samples = self.ours.iter().map(|run| run.seconds).collect();
        // Each run against the two replays around it: what the machine did meanwhile happened to both.
        let ratios: Samples = self
            .ours
            .iter()
            .zip(self.limit.chunks(2))
            .map(|(run, around)| run.seconds / around.iter().copied().collect::<Samples>().median())
            .collect();
        let ratio = ours.median() / limit.median();
        report.add(format!("ratio_{n}"), ratio, Target::AtMost(1.3));
        report.add(format!("ratio_{n}_min"), ratios.min(), Target::None);
        report.add(format!("ratio_{n}_max"), ratios.max(), Target::None);
        spread(report, &format!("seconds_{n}"), &ours);
        spread(report, &format!("raw_seconds_{n}"), &limit);
        report.add("raw_concurrency", count(self.concurrency), Target::None);
    }

    fn memory(&self, report: &mut Report) {
        let n = self.objects;
        let of = |part: fn(&Memory) -> f64| -> Samples {
            self.ours.iter().map(|run| part(&run.memory)).collect()
        };
        let growth: Samples =
            self.ours.iter().map(|run| run.memory.anonymous - self.empty.anonymous).collect();
        let key = format!("rss_anon_growth_mib_{n}");
        report.add(key.as_str(), growth.median(), Target::AtMost(3.0));
        report.add(format!("{key}_min"), growth.min(), Target::None);
        report.add(format!("{key}_max"), growth.max(), Target::None);
        let total = of(|memory| memory.total).median();
        report.add(format!("rss_total_mib_{n}"), total, Target::AtMost(25.0));
        let peak = of(|memory| memory.peak).median();
        report.add(format!("rss_peak_mib_{n}"), peak, Target::None);
        report.add("rss_anon_mib_empty", self.empty.anonymous, Target::None);
        report.add("rss_total_mib_empty", self.empty.total, Target::None);
    }

    fn calls(&self, report: &mut Report) {
        let n = self.objects;
        let per_object = |part: fn(&Run) -> usize| -> f64 {
            let calls: Samples = self.ours.iter().map(|run| count(part(run))).collect();
            calls.max() / count(n)
        };
        // Events are counted by themselves: they tell people of a write, and go away by themselves.
        let writes = per_object(|run| run.writes - run.events);
        report.add(format!("api_writes_per_object_{n}"), writes, Target::Exactly(1.0));
        let reads = per_object(|run| run.reads);
        report.add(format!("api_reads_per_object_{n}"), reads, Target::None);
        let events = per_object(|run| run.events);
        report.add(format!("events_per_object_{n}"), events, Target::None);
        report.add("idle_requests", count(self.idle_requests), Target::Exactly(0.0));
    }
}

pub(super) fn spread(report: &mut Report, key: &str, samples: &Samples) {
    report.add(key, samples.median(), Target::None);
    report.add(format!("{key}_min"), samples.min(), Target::None);
    report.add(format!("{key}_max"), samples.max(), Target::None);
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: f64, anonymous: f64, writes: usize) -> Run {
        let memory = Memory { anonymous, total: 20.0, peak: 30.0 };
        Run { seconds, memory, writes, reads: 3, events: 0 }
    }

    fn measurements(ours: Vec<Run>) -> Measurements {
        let empty = Memory { anonymous: 5.0, total: 15.0, peak: 15.0 };
        Measurements {
            objects: 100,
            empty,
            concurrency: 32,
            limit: vec![1.0, 1.0, 2.0, 2.0, 1.0, 1.0],
            ours,
            idle_requests: 0,
            allocations: 4.0,
        }
    }

    #[test]
    fn medians_decide_and_one_slow_round_does_not() {
        let ours = vec![run(1.2, 7.0, 100), run(9.0, 7.0, 100), run(1.2, 7.0, 100)];
        let report = measurements(ours).report();
        assert!(report.is_met(), "{}", report.table());
    }

    #[test]
    fn one_write_too_many_in_any_round_is_seen() {
        let ours = vec![run(1.2, 7.0, 100), run(1.2, 7.0, 101), run(1.2, 7.0, 100)];
        assert!(!measurements(ours).report().is_met());
    }
}

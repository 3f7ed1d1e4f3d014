//! moto does one thing at a time, so both sides wait for it most of the time. What is measured is what machinist adds:
//! look-ups, descriptions, and its own writes to Kubernetes.

mod figures;
mod launches;
mod live;
mod stage;

use anyhow::{Context, Result};

use self::figures::{Measurements, Series};
use self::live::Live;
use crate::Options;
use crate::report::Report;
use crate::statistics::Comparison;

/// Launches of the bare SDK under way; the best of these is the limit.
const CONCURRENCIES: [usize; 3] = [8, 32, 64];

/// Raw, ours, raw, ours, raw. With no rounds, one run that is compared with nothing.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let mut measurements = Measurements::default();
    let smallest = *options.launches.first().context("--launches names no number")?;
    if options.rounds > 0 {
        measurements.concurrency = best_concurrency(smallest).await?;
    }
    for (index, machines) in options.launches.iter().copied().enumerate() {
        // One round with many machines takes as long as several with few.
        let rounds = if index == 0 { options.rounds } else { options.rounds.min(2) };
        let is_last = index + 1 == options.launches.len();
        let series = measure(machines, rounds, is_last, measurements.concurrency, options).await?;
        measurements.series.push(series);
    }
    Ok(measurements.report())
}

async fn measure(
    machines: usize,
    rounds: usize,
    with_idle: bool,
    concurrency: usize,
    options: &Options,
) -> Result<Series> {
    println!("{machines} machines on EC2");
    let mut series =
        Series { machines, times: Comparison::default(), runs: Vec::new(), idle: None };
    if rounds > 0 {
        series.times.limit.push(launches::time(machines, concurrency).await?);
    }
    for round in 0..rounds.max(1) {
        let mut live = Live::run(machines, options).await?;
        let run = live.measure(options).await?;
        series.times.ours.push(run.seconds);
        series.runs.push(run);
        if with_idle && round + 1 >= rounds {
            series.idle = Some(live.idle(options).await?);
        }
        live.end().await?;
        if rounds > 0 {
            series.times.limit.push(launches::time(machines, concurrency).await?);
        }
    }
    Ok(series)
}

async fn best_concurrency(machines: usize) -> Result<usize> {
    let mut best = None;
    for concurrency in CONCURRENCIES {
        let seconds = launches::time(machines, concurrency).await?;
        if best.is_none_or(|(least, _)| seconds < least) {
            best = Some((seconds, concurrency));
        }
    }
    best.map(|(_, concurrency)| concurrency).context("nothing was tried")
}

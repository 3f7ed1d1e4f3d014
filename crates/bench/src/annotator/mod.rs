//! What takes long and needs no comparison (counting requests of the settled program) comes last.

mod figures;
mod live;
mod recording;
mod series;

use std::time::Duration;

use anyhow::{Context, Result};

use self::figures::Measurements;
use self::live::Live;
use self::recording::Recording;
use crate::Options;
use crate::allocations;
use crate::bed::Bed;
use crate::manifests;
use crate::memory::Memory;
use crate::raw::Bare;
use crate::report::{Report, Target};
use crate::statistics::Samples;

/// Requests of the bare client under way; the best of these is the limit.
const CONCURRENCIES: [usize; 3] = [8, 32, 64];
const TRIALS: usize = 2;

/// Only memory and calls where no rounds are wanted.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let bed = Bed::start(options).await?;
    println!("idle on an empty cluster");
    let empty = memory_on_empty_cluster(&bed, options).await?;
    let mut measurements = Measurements { empty, concurrency: 0, series: Vec::new() };
    let raw = Bare::new(bed.cluster.control_plane.kube_config(), recording::PARTY)?;
    for (index, objects) in options.objects.iter().enumerate() {
        println!("{objects} MachineSets: recording the writes");
        let (recording, recorded) = series::record(&bed, *objects, options.settle()).await?;
        let rounds = if index == 0 { options.rounds } else { options.rounds.saturating_sub(1) };
        if rounds > 0 && measurements.concurrency == 0 {
            measurements.concurrency = best_concurrency(&bed, &raw, &recording).await?;
        }
        let concurrency = measurements.concurrency;
        let plan = series::Plan { bed: &bed, raw: &raw, concurrency, settle: options.settle() };
        measurements.series.push(plan.run(&recording, recorded, rounds).await?);
    }
    let mut report = measurements.report();
    if options.rounds > 0 {
        settled(&bed, options, &mut report).await?;
        println!("manifests without a cluster");
        let folder = bed.cluster.control_plane.folder().join("manifests");
        let seconds = manifests::seconds(bed.program.path(), &folder)?;
        let key = format!("annotate_seconds_{}", manifests::MANIFESTS);
        report.add_spread(&key, &seconds, Target::None);
    }
    Ok(report)
}

async fn settled(bed: &Bed, options: &Options, report: &mut Report) -> Result<()> {
    println!("requests and allocations of the settled program");
    let objects = *options.objects.first().context("--objects names no number")?;
    let mut live = Live::run(bed, objects).await?;
    let requests = live.idle_requests(options.idle()).await?;
    live.stop().await?;
    let config = bed.cluster.control_plane.kube_config();
    let allocations = allocations::per_settled_reconcile(config, live.fleet().namespace()).await?;
    figures::settled(report, requests, allocations);
    Ok(())
}

async fn memory_on_empty_cluster(bed: &Bed, options: &Options) -> Result<Memory> {
    let mut running = bed.program.start()?;
    // The list of nothing takes no time worth measuring; starting does.
    tokio::time::sleep(Duration::from_secs(2) + options.settle()).await;
    let memory = running.memory()?;
    running.stop().await?;
    Ok(memory)
}

async fn best_concurrency(bed: &Bed, raw: &Bare, recording: &Recording) -> Result<usize> {
    let mut best = (f64::INFINITY, CONCURRENCIES[0]);
    for concurrency in CONCURRENCIES {
        let mut seconds = Samples::default();
        for _ in 0..TRIALS {
            seconds.push(recording.replay(bed, raw, concurrency).await?);
        }
        println!("raw with {concurrency} at once: {:.2} to {:.2} s", seconds.min(), seconds.max());
        if seconds.min() < best.0 {
            best = (seconds.min(), concurrency);
        }
    }
    Ok(best.1)
}

//! The annotator: how long it takes over many MachineSets, with how much memory and how many requests.
//!
//! * [`live`]: a run of the real program; [`recording`]: its writes, replayed by a bare client; [`figures`]: from measurements to the report.
//!
//! One recorded run gives the writes that the bare client replays. Then come rounds of raw, ours, raw, so that a machine that gets slower or
//! faster meanwhile does so for both. Every run has a namespace of its own with the same objects in it. What takes long and needs no
//! comparison (counting requests of the settled program) comes last.

mod figures;
mod live;
mod recording;

use std::time::Duration;

use anyhow::Result;

use self::figures::Measurements;
use self::live::Live;
use self::recording::Recording;
use crate::Options;
use crate::allocations;
use crate::bed::Bed;
use crate::manifests;
use crate::memory::Memory;
use crate::raw::Bare;
use crate::report::Report;
use crate::statistics::Samples;

/// How many requests the bare client may have under way; the best of these is the limit.
const CONCURRENCIES: [usize; 3] = [8, 32, 64];
/// Replays at each concurrency when looking for the best one.
const TRIALS: usize = 2;

/// Measures everything.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let bed = Bed::start(options).await?;
    println!("idle on an empty cluster");
    let empty = memory_on_empty_cluster(&bed, options).await?;
    println!("recording the writes");
    let recording = record(&bed, options).await?;
    let raw = Bare::new(bed.control_plane.kube_config(), recording::PARTY)?;
    let concurrency = best_concurrency(&bed, &raw, &recording).await?;

    let (mut limit, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        let before = recording.replay(&bed, &raw, concurrency).await?;
        let mut live = Live::run(&bed, options.objects).await?;
        let run = live.measure(options.settle()).await?;
        live.end(&bed).await?;
        let after = recording.replay(&bed, &raw, concurrency).await?;
        println!(
            "round {round} of {}: raw {before:.2} s, ours {:.2} s, raw {after:.2} s",
            options.rounds, run.seconds
        );
        limit.extend([before, after]);
        ours.push(run);
    }

    println!("requests and allocations of the settled program");
    let mut live = Live::run(&bed, options.objects).await?;
    let idle_requests = live.idle_requests(options.idle()).await?;
    live.stop().await?;
    let config = bed.control_plane.kube_config();
    let allocations = allocations::per_settled_pass(config, live.namespace()).await?;
    let measurements = Measurements {
        objects: options.objects,
        empty,
        concurrency,
        limit,
        ours,
        idle_requests,
        allocations,
    };
    let mut report = measurements.report();
    println!("manifests without a cluster");
    let folder = bed.control_plane.folder().join("manifests");
    let seconds = manifests::seconds(bed.program.path(), &folder)?;
    figures::spread(&mut report, &format!("annotate_seconds_{}", manifests::MANIFESTS), &seconds);
    Ok(report)
}

async fn memory_on_empty_cluster(bed: &Bed, options: &Options) -> Result<Memory> {
    let namespace = bed.namespace().await?;
    let mut running = bed.program.start(&namespace)?;
    // The list of nothing takes no time worth measuring; starting does.
    tokio::time::sleep(Duration::from_secs(2) + options.settle()).await;
    let memory = running.memory()?;
    running.stop().await?;
    Ok(memory)
}

async fn record(bed: &Bed, options: &Options) -> Result<Recording> {
    let mut live = Live::run(bed, options.objects).await?;
    let recording = Recording::of(bed, &live).await?;
    live.stop().await?;
    live.end(bed).await?;
    Ok(recording)
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

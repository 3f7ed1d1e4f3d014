//! The recycler: what tens of thousands of Events cost it, how soon it decides, and what the same evaluation costs a
//! poller.
//!
//! [`stage`]: an API server, groups in Auto Scaling (moto), Nodes, Pods and Events. [`live`]: the real program beside
//! them. [`latency`]: from an Event to the decision, against a bare watch. [`polling`]: the same evaluation by lists
//! and reads. [`figures`]: from measurements to the report.
//!
//! An EventRecycler that never has enough events counts a tenth of them; another one with `dryRun` decides at the
//! first event.

mod figures;
mod latency;
mod live;
mod polling;
mod stage;

use anyhow::{Context, Result};

use self::figures::{Measurements, Series};
use self::live::Live;
use self::stage::Stage;
use crate::Options;
use crate::report::Report;

/// Measures every number of Events; latency, polling and rest with the first.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let mut measurements = Measurements::default();
    let smallest = *options.events.first().context("--events names no number")?;
    for events in options.events.iter().copied() {
        println!("{events} Events");
        let stage = Stage::start().await?;
        let mut live = Live::start(&stage, options).await?;
        let load = live.load(&stage, events).await?;
        if events == smallest {
            measurements.idle = Some(live.idle(&stage, options).await?);
            measurements.latency = Some(latency::measure(&stage).await?);
            measurements.polling = Some(polling::measure(&stage).await?);
        }
        let grown = live.memory()?;
        let empty = live.end().await?;
        let listed = live::after_lists(&stage, options).await?;
        measurements.series.push(Series { events, load, empty, grown, listed });
    }
    Ok(measurements.report())
}

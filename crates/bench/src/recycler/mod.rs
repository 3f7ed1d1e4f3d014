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

/// Latency, polling and rest with the first number of Events.
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

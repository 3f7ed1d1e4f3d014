//! Machines on the simulated cloud: how long they take from nothing to Running, with how much memory and how many
//! requests, and what it costs to remove them again.
//!
//! - [`stage`]: an API server and a cloud, fresh for every run; [`sets`]: the MachineSets; [`live`]: a run of the
//!   real program; [`recording`]: its writes; [`replay`]: the same writes by a bare client; [`series`]: both by
//!   turns; [`footprint`]: what one stored object takes; [`figures`]: from measurements to the report.
//!
//! The writes are recorded with the smallest number of machines, in one MachineSet. More machines are more such sets,
//! so the recording is replayed once for each of them. If machinist wrote more per machine when there are many, that
//! would be its own loss.

mod figures;
mod footprint;
mod live;
mod recording;
mod replay;
mod series;
mod sets;
mod stage;

use anyhow::{Context, Result, ensure};

use self::figures::Measurements;
use self::live::Work;
use self::series::Plan;
use crate::Options;
use crate::report::Report;

/// Measures everything, or only memory and calls where no rounds are wanted.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let smallest = *options.machines.first().context("--machines names no number")?;
    ensure!(smallest > 0, "--machines must be more than nothing");
    let mut plan = Plan::new(options, smallest);
    let mut measurements = Measurements::default();
    for (index, machines) in options.machines.iter().enumerate() {
        ensure!(machines % smallest == 0, "{machines} is no multiple of {smallest}");
        // One round with many machines takes as long as five with few.
        let rounds = if index == 0 { options.rounds } else { options.rounds.min(1) };
        measurements.running.push(plan.measure(Work::Run, *machines, rounds).await?);
    }
    if options.rounds > 0 {
        let created = plan.measure(Work::Create, smallest, options.rounds).await?;
        measurements.created = Some(created);
    }
    measurements.concurrency = plan.concurrency.unwrap_or_default();
    Ok(measurements.report())
}

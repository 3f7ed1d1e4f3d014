//! The writes are recorded with the smallest number of machines, in one MachineSet. More machines are more such sets,
//! so the recording is replayed once for each. If machinist wrote more per machine with many, that would be its loss.

mod deployment;
mod figures;
mod footprint;
mod live;
mod recording;
mod replay;
mod series;
mod sets;
mod stage;

use anyhow::{Context, Result, ensure};

pub(crate) use self::deployment::run as run_deployment;
use self::figures::Measurements;
use self::live::Work;
use self::series::Plan;
use self::sets::Owner;
use crate::Options;
use crate::report::Report;

/// Only memory and calls where no rounds are wanted.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    let smallest = *options.machines.first().context("--machines names no number")?;
    ensure!(smallest > 0, "--machines must be more than nothing");
    let mut plan = Plan::new(options, Owner::MachineSet, smallest);
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

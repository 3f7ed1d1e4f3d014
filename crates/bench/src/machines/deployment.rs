//! MachineDeployments: Machines from nothing, a rollout of all of them with a surge of a quarter, and rest. The limit
//! of each is a replay of the same writes, and of the rollout's only its own.

use anyhow::{Context, Result, ensure};

use super::figures;
use super::live::Work;
use super::series::{Plan, Series};
use super::sets::Owner;
use crate::Options;
use crate::report::{Report, Target};
use crate::statistics::count;

/// Of the settled ones: deployments, and Machines of each.
const SETTLED: (usize, usize) = (200, 10);

pub(crate) async fn run(options: &Options) -> Result<Report> {
    let machines = *options.machines.first().context("--machines names no number")?;
    ensure!(machines > 0, "--machines must be more than nothing");
    let mut report = Report::new("deployment");
    let mut plan = Plan::new(options, Owner::MachineDeployment, machines);
    let created = plan.measure(Work::Create, machines, options.rounds).await?;
    ratio("create_", &created, Target::AtMost(1.4), &mut report);
    let rolled = plan.measure(Work::Roll, machines, options.rounds).await?;
    ratio("roll_", &rolled, Target::AtMost(1.5), &mut report);
    figures::change_calls("roll", machines, &rolled.rolls, &mut report);
    figures::memory(&rolled, &mut report);
    report.add("raw_concurrency", count(plan.concurrency.unwrap_or_default()), Target::None);
    let (deployments, each) = SETTLED;
    let plan = Plan::new(options, Owner::MachineDeployment, each);
    let settled = plan.settled(deployments * each).await?;
    let key = format!("idle_requests_{deployments}_deployments");
    report.add(key, count(settled), Target::Exactly(0.0));
    report.add_cores();
    Ok(report)
}

fn ratio(what: &str, series: &Series, target: Target, report: &mut Report) {
    if !series.times.limit.is_empty() {
        report.add_comparison(what, series.machines, &series.times, target);
    }
}

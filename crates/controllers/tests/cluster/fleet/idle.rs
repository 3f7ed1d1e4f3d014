//! A settled fleet costs nothing but watches and leases; the resync looks, and writes nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use machinist_testbed::faults::{LogEntry, Verb};
use machinist_testbed::poll::{eventually, holds_for};
use serde_json::json;

use crate::fleet::fixture::{Fleet, PATIENCE};
use crate::fleet::timings::timings;

/// Five minutes of life: whatever is done every now and then is done in this time.
const IDLE: Duration = Duration::from_secs(6);
/// What follows from the last change has begun by then, also on a busy machine.
const SETTLING: Duration = Duration::from_secs(3);
/// The cloud behind the proxy.
const CLOUD: &str = "sim";

on_both_definitions! {
    crate::fleet::fixture::Fleet::new =>
    a_settled_fleet_costs_nothing_but_watches_and_leases,
    the_resync_looks_and_writes_nothing,
}

/// Everything that the controllers asked of the API server and of the cloud, apart from watches and leases.
fn requests(fleet: &Fleet) -> Vec<LogEntry> {
    let all = fleet.proxy.log().entries().into_iter();
    let costs =
        |entry: &LogEntry| entry.request.verb != Verb::Watch && entry.request.resource != "leases";
    all.filter(costs).collect()
}

fn lines(entries: &[LogEntry]) -> String {
    let body = |entry: &LogEntry| String::from_utf8_lossy(&entry.request.body).into_owned();
    let lines = entries.iter().map(|entry| format!("{entry} {}", body(entry)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Waits until nothing follows from the last change any more. Returns how many requests there were.
async fn until_quiet(fleet: &Fleet) -> Result<usize> {
    eventually(PATIENCE, "a moment without a request", || async {
        let all = requests(fleet);
        let last = all.last().map_or(Duration::ZERO, |entry| entry.at);
        let quiet = fleet.proxy.log().now().saturating_sub(last);
        ensure!(quiet >= SETTLING, "the last one: {}", lines(&all[all.len().saturating_sub(5)..]));
        Ok(all.len())
    })
    .await
}

/// Fails if the controllers ask for anything, once all is done.
pub(crate) async fn stays_idle(fleet: &Fleet) -> Result<()> {
    let before = until_quiet(fleet).await?;
    holds_for(IDLE, "an idle fleet", async || {
        let all = requests(fleet);
        ensure!(all.len() == before, "requests:\n{}", lines(&all[before..]));
        Ok(())
    })
    .await
}

async fn a_settled_fleet_costs_nothing_but_watches_and_leases(fleet: Fleet) -> Result<()> {
    let process = fleet.run_elected(timings().sync_period)?;
    let taint = json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"});
    let extra = json!({"metadata": {"labels": {"tier": "gold"}}, "taints": [taint]});
    fleet.create_workers(3, extra).await?;
    fleet.until_settled(3).await?;
    stays_idle(&fleet).await?;
    let log = fleet.proxy.log();
    let leases = log.entries().iter().filter(|entry| entry.request.resource == "leases").count();
    assert!(leases > 3, "{leases} requests for leases: it was not even running");

    // Nor does a machine that failed for good, or one that was never possible.
    let hopeless = crate::fleet::fixture::machine_spec(&json!({"bootSeconds": "soon"}));
    fleet.create_bare_machine("hopeless", hopeless).await?;
    fleet.until_phase("hopeless", "Failed").await?;
    stays_idle(&fleet).await?;
    process.kill().await
}

async fn the_resync_looks_and_writes_nothing(mut fleet: Fleet) -> Result<()> {
    // The machines of a round are asked about together, however long they wait for a core.
    fleet.setup.machines.gather = Duration::from_millis(400);
    let process = fleet.run_elected(Duration::from_secs(1))?;
    fleet.create_workers(3, json!({})).await?;
    fleet.until_settled(3).await?;
    // The resync is never quiet for long, so it is the writes that have to stop.
    let writes = |fleet: &Fleet| -> Vec<LogEntry> {
        requests(fleet).into_iter().filter(|entry| entry.request.is_write()).collect()
    };
    let before = eventually(PATIENCE, "a moment without a write", || async {
        let all = writes(&fleet);
        let last = all.last().map_or(Duration::ZERO, |entry| entry.at);
        let quiet = fleet.proxy.log().now().saturating_sub(last);
        ensure!(quiet >= SETTLING, "{}", lines(&all));
        Ok(all.len())
    })
    .await?;
    let from = requests(&fleet).len();
    holds_for(IDLE, "an idle fleet", async || {
        let written = writes(&fleet).split_off(before);
        ensure!(written.is_empty(), "writes:\n{}", lines(&written));
        Ok(())
    })
    .await?;
    let looked = eventually(PATIENCE, "two resyncs", || async {
        let looked = requests(&fleet).split_off(from);
        let resyncs = looked.iter().filter(|entry| entry.request.resource == "machines").count();
        ensure!(resyncs > 1, "only:\n{}", lines(&looked));
        Ok(looked)
    })
    .await?;
    let of = |group: &str| looked.iter().filter(|entry| entry.request.group == group).count();
    let lists = looked.iter().filter(|entry| entry.request.resource == "machines").count();
    // One question for all machines of a round.
    let clouds = of(CLOUD);
    println!("{lists} resyncs of machines, {clouds} calls to the cloud");
    assert!((1..=lists + 1).contains(&clouds), "{clouds} calls in {lists} rounds");
    process.kill().await
}

//! A settled fleet costs few calls, however many machines it has. `MACHINIST_LONG=1`: 1,000 of them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use machinist_testbed::poll::{eventually, holds_for};
use serde_json::json;

use super::fleet::{Fleet, PATIENCE};

/// Enough to see batches. Twice as many keep moto busy for minutes, and with it every other test of a fleet.
const SIZE: usize = 100;
/// What a resync of 1,000 machines may cost, by design.
const CALLS: usize = 10;
/// What it costs however few they are: names of networks, and a batch that begins before all have come.
const AT_LEAST: usize = 2;
/// How often a resync comes round: long after the cache of the last one has expired (here that takes three seconds).
const PERIOD: Duration = Duration::from_secs(16);
const PERIODS: usize = 2;
/// Without a call for this long, nothing follows from the last change any more.
const QUIET: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_fleet_costs_few_calls() -> Result<()> {
    let size = if std::env::var_os("MACHINIST_LONG").is_some() { 1000 } else { SIZE };
    let fleet = Fleet::new("at-rest").await?;
    let flag = format!("--sync-period={}s", PERIOD.as_secs());
    let _controllers = fleet.controllers(&[&flag]).await?;
    fleet.create_set(size, &fleet.spec(&json!({}))).await?;
    fleet.settled(size).await?;
    let count = || fleet.cloud.front().calls().len();
    let before = eventually(PATIENCE, "a pause between calls", || async {
        let now = count();
        holds_for(QUIET, "no calls", async || {
            ensure!(count() == now, "still calls");
            Ok(())
        })
        .await?;
        Ok(now)
    })
    .await?;

    let changes = fleet.changes().len();
    let started = Instant::now();
    let calls = eventually(PATIENCE, "the calls of two resyncs", || async {
        let calls = fleet.cloud.front().calls().split_off(before);
        ensure!(started.elapsed() >= PERIOD * 2 && calls.len() >= PERIODS, "{} calls", calls.len());
        Ok(calls)
    })
    .await?;
    // A busy machine may have seen one more.
    let periods = usize::try_from(started.elapsed().as_secs() / PERIOD.as_secs())? + 1;
    let actions: Vec<_> = calls.iter().map(|call| call.action.as_str()).collect();
    println!("{size} machines: {} calls in {periods} resyncs at most: {actions:?}", calls.len());
    let limit = CALLS.min(CALLS * size / 1000 + AT_LEAST) * periods;
    ensure!(calls.len() <= limit, "{} calls, {limit} are allowed: {actions:?}", calls.len());
    ensure!(fleet.changes().len() == changes, "writes: {:?}", fleet.changes());
    Ok(())
}

//! A fleet at rest costs few calls, however many machines it has. `MACHINIST_LONG=1`: 1,000 of them.

use std::time::Duration;

use serde_json::json;

use super::fleet::Fleet;

/// What a resync of 1,000 machines may cost, by design.
const CALLS: usize = 10;
/// What it costs however few they are: names of networks, and a batch that begins before all have come.
const AT_LEAST: usize = 2;
/// How often a resync comes round: long after what was seen at the last one is forgotten, as in life (here that takes three seconds).
const PERIOD: Duration = Duration::from_secs(16);
const PERIODS: u32 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_at_rest_costs_few_calls() {
    let size = if std::env::var_os("MACHINIST_LONG").is_some() { 1000 } else { 200 };
    let fleet = Fleet::new("at-rest").await.unwrap();
    let flag = format!("--sync-period={}s", PERIOD.as_secs());
    let _controllers = fleet.controllers(&[&flag]).await.unwrap();
    fleet.create_set(size, &fleet.spec(&json!({}))).await.unwrap();
    fleet.settled(size).await.unwrap();
    // Until what began before has ended.
    tokio::time::sleep(PERIOD).await;

    let before = fleet.cloud.front().calls().len();
    let changes = fleet.changes().len();
    tokio::time::sleep(PERIOD * PERIODS).await;
    let calls = fleet.cloud.front().calls();
    let cost = calls.len() - before;
    let actions: Vec<_> = calls[before..].iter().map(|call| call.action.as_str()).collect();
    println!("{size} machines: {cost} calls in {PERIODS} resyncs: {actions:?}");
    let periods = usize::try_from(PERIODS).unwrap();
    let limit = CALLS.min(CALLS * size / 1000 + AT_LEAST);
    assert!((periods..=limit * periods).contains(&cost), "{cost} calls: {actions:?}");
    assert_eq!(fleet.changes().len(), changes);
}

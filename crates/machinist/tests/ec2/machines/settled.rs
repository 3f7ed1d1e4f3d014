//! A fleet at rest costs few calls, however many machines it has.

use std::time::Duration;

use serde_json::json;

use super::fleet::Fleet;

/// What a resync may cost, by design.
const CALLS: usize = 10;
const PERIOD: Duration = Duration::from_secs(6);
const PERIODS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_at_rest_costs_few_calls() {
    let size = if std::env::var_os("MACHINIST_LONG").is_some() { 1000 } else { 200 };
    let fleet = Fleet::new("at-rest").await.unwrap();
    let period = format!("--sync-period={}s", PERIOD.as_secs());
    let _controllers = fleet.controllers(&[&period]).await.unwrap();
    fleet.create_set(size, &fleet.spec(&json!({}))).await.unwrap();
    fleet.settled(size).await.unwrap();
    // Until what began before has ended.
    tokio::time::sleep(PERIOD).await;

    let before = fleet.cloud.front().calls().len();
    let changes = fleet.changes().len();
    tokio::time::sleep(PERIOD * u32::try_from(PERIODS).unwrap()).await;
    let calls = fleet.cloud.front().calls();
    let cost = calls.len() - before;
    let actions: Vec<_> = calls[before..].iter().map(|call| call.action.as_str()).collect();
    println!("{size} machines: {cost} calls in {PERIODS} resyncs: {actions:?}");
    assert!((PERIODS..=CALLS * PERIODS).contains(&cost), "{cost} calls: {actions:?}");
    assert_eq!(fleet.changes().len(), changes);
}

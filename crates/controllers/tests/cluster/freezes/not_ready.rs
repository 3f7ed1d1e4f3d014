//! Most Nodes stop heartbeating at once, with a health check that would delete them all: only the freeze stops it.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use kube::api::DynamicObject;
use machinist_api::names::CONDITION_FROZEN;
use machinist_testbed::world::reading::{condition, condition_of, message};
use serde_json::json;

use crate::definitions::Served;
use crate::health_checks::{CHECK, SET, start_with};

const REASON: &str = "True/NodesNotReady";
/// So far ahead of the creation that a Node counts as one that has been ready, whatever the test's speed.
const AHEAD: SignedDuration = SignedDuration::from_mins(-5);

#[tokio::test(flavor = "multi_thread")]
async fn sixty_percent_of_the_nodes_stop_heartbeating_and_nothing_is_deleted() -> Result<()> {
    let world = start_with("silent", Served::Ours, &["healthcheck", "machineset"]).await?;
    world.create_fleet(10).await?;
    world.scale(SET, 10).await?;
    let process = world.run()?;
    // Long enough for six writes: the first Node must not be replaced before most are silent.
    let conditions = json!([
        {"type": "Ready", "status": "Unknown", "timeout": "5s"},
        {"type": "Terminating", "status": "True", "timeout": "1s"},
    ]);
    let spec = json!({"maxUnhealthy": "100%", "unhealthyConditions": conditions});
    world.create_check(CHECK, json!({}), spec).await?;
    let healthy = |check: &DynamicObject| condition(check, "MachinesHealthy") == "True";
    world.until_health_check(CHECK, "all are healthy", healthy).await?;

    for number in 0..6 {
        world.report(&format!("m-{number}"), "Ready", "Unknown", AHEAD).await?;
    }
    let is_frozen = |object: &DynamicObject| condition(object, CONDITION_FROZEN) == REASON;
    let check = world.until_health_check(CHECK, "it is frozen", is_frozen).await?;
    let text = message(&check, CONDITION_FROZEN);
    ensure!(text.contains("of 10 Nodes of Machines are not ready"), "{text}");
    world.until_event(CHECK, "Frozen").await?;
    world.until_set(SET, "its set is frozen", is_frozen).await?;
    let (ready, lines) = process.readiness();
    ensure!(ready && lines.contains("(NodesNotReady)"), "{lines}");
    assert_eq!(process.count("machinist_frozen", &["reason=\"NodesNotReady\""]), 1);
    // The health check wants to delete all six.
    world.until_health_check(CHECK, "it says why it waits", |check| is_held(check, 6)).await?;
    assert_eq!(world.alive_machines().await?.len(), 10);

    // What a user asks for is done, and so is what the cloud takes anyway.
    world.scale(SET, 9).await?;
    let left = world.until_left(9).await?;
    let noticed = left.last().cloned().unwrap_or_default();
    world.report(&noticed, "Terminating", "True", SignedDuration::ZERO).await?;
    world.until_gone(&noticed).await?;

    // It ends by itself, and the health check goes on with those that are still silent.
    let left = world.alive_machines().await?;
    let mut silent = left.iter().filter(|name| name.as_str() < "m-6");
    let victim = silent.next().cloned().unwrap_or_default();
    for name in silent {
        world.report(name, "Ready", "True", SignedDuration::ZERO).await?;
    }
    world.until_gone(&victim).await?;
    let is_thawed = |object: &DynamicObject| condition_of(object, CONDITION_FROZEN).is_null();
    world.until_health_check(CHECK, "it is frozen no longer", is_thawed).await?;
    world.until_event(CHECK, "FreezeEnded").await?;
    process.kill().await
}

/// Whether so many Machines are unhealthy, and only the freeze keeps them.
fn is_held(check: &DynamicObject, count: usize) -> bool {
    let text = message(check, "MachinesHealthy");
    text.matches("not remediated: frozen, because ").count() == count
}

/// A freeze that a process has not seen the beginning of holds in it, too.
#[tokio::test(flavor = "multi_thread")]
async fn process_that_starts_while_most_nodes_are_silent_deletes_nothing() -> Result<()> {
    let world = start_with("silent-start", Served::Ours, &["healthcheck"]).await?;
    world.create_fleet(5).await?;
    for number in 0..3 {
        world.report(&format!("m-{number}"), "Ready", "Unknown", AHEAD).await?;
    }
    let conditions = json!([{"type": "Ready", "status": "Unknown", "timeout": "1s"}]);
    let spec = json!({"maxUnhealthy": "100%", "unhealthyConditions": conditions});
    world.create_check(CHECK, json!({}), spec).await?;
    let process = world.run()?;
    world.until_health_check(CHECK, "it says why it waits", |check| is_held(check, 3)).await?;
    let is_frozen = |object: &DynamicObject| condition(object, CONDITION_FROZEN) == REASON;
    world.until_health_check(CHECK, "it is frozen", is_frozen).await?;
    assert_eq!(world.alive_machines().await?.len(), 5);
    process.kill().await
}

//! Thirty Machines: rolling update, three edits in the middle, and Recreate.

use std::collections::BTreeSet;

use anyhow::Result;
use kube::api::ListParams;
use machinist_testbed::world::{Extremes, Observer};
use serde_json::{Value, json};

use super::{create, edit, types_of, until_complete, until_made};
use crate::fleet::fixture::Fleet;

const SIZE: usize = 30;
/// 25 % of 30, rounded up.
const SURGE: usize = 8;
/// 10 % of 30.
const UNAVAILABLE: usize = 3;

fn rolling() -> Value {
    json!({"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "10%"}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_machines_are_replaced_within_the_limits() -> Result<()> {
    let fleet = Fleet::with_deployments("thirty").await?;
    let process = fleet.run()?;
    create(&fleet, SIZE, rolling()).await?;
    let before = until_complete(&fleet, SIZE).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    let after = until_complete(&fleet, SIZE).await?;
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    println!("{most} Machines at most, {fewest_ready} ready at least");
    assert!(most <= SIZE + SURGE && fewest_ready >= SIZE - UNAVAILABLE, "{most} {fewest_ready}");
    // The limits are used, too: one Machine after the other would take eight times as long.
    assert!(most > SIZE + 1, "{most}");
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (2 * SIZE, SIZE));
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_three_edits_in_the_middle_abandons_the_one_before() -> Result<()> {
    let fleet = Fleet::with_deployments("three-edits").await?;
    let process = fleet.run()?;
    create(&fleet, SIZE, rolling()).await?;
    until_complete(&fleet, SIZE).await?;
    let observer = Observer::start(&fleet).await?;
    for kind in ["sim.medium", "sim.large", "sim.xlarge"] {
        edit(&fleet, kind).await?;
        until_made(&fleet, kind, UNAVAILABLE).await?;
    }
    until_complete(&fleet, SIZE).await?;
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(most <= SIZE + SURGE && fewest_ready >= SIZE - UNAVAILABLE, "{most} {fewest_ready}");
    assert_eq!(types_of(&fleet.all_machines().await?), BTreeSet::from(["sim.xlarge"]));
    let created = fleet.cloud().created();
    println!("{created} instances for 4 templates");
    assert!(created < 4 * SIZE, "no template before the last was completed");
    assert_eq!(fleet.sets().list(&ListParams::default()).await?.items.len(), 4);
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn recreate_creates_nothing_before_all_old_machines_are_gone() -> Result<()> {
    let fleet = Fleet::with_deployments("recreate").await?;
    let process = fleet.run()?;
    create(&fleet, SIZE, json!({"strategy": {"type": "Recreate"}})).await?;
    let before = until_complete(&fleet, SIZE).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    let after = until_complete(&fleet, SIZE).await?;
    let Extremes { most, fewest_ready, most_sets } = observer.stop(&fleet).await?;
    assert_eq!((most, fewest_ready, most_sets), (SIZE, 0, 1));
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (2 * SIZE, SIZE));
    process.kill().await
}

//! The API server is away in the middle of a scale-down.

use std::time::Duration;

use anyhow::{Result, ensure};
use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::poll::holds_for;
use serde_json::json;

use super::{refusals, until_refused};
use crate::definitions::Served;
use crate::fleet::fixture::Fleet;
use crate::fleet::timings::SPEED;
use crate::process::Process;

async fn until_frozen(fleet: &Fleet, process: &Process, count: u64) -> Result<()> {
    fleet
        .eventually("the freeze", || async {
            let found = process.count("machinist_frozen", &["reason=\"ApiUnreachable\""]);
            ensure!(found == count, "{found} are in force");
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn outage_of_two_minutes_in_a_scale_down_leaves_what_was_asked_for() -> Result<()> {
    let mut fleet = Fleet::new("outage", Served::Ours).await?;
    fleet.setup.timings.freezes.unreachable = Duration::from_secs(30).div_f64(SPEED);
    let process = fleet.run()?;
    fleet.create_workers(6, json!({})).await?;
    fleet.until_settled(6).await?;

    let gate = Gate::new();
    let deletions = Match::any().verbs([Verb::Delete]).resource("machines");
    fleet.proxy.add_rule(Rule::new(deletions, Effect::Hold(gate.clone())).skip(1));
    fleet.scale_workers(2).await?;
    gate.reached().await;
    fleet.proxy.refuse_all(true);
    gate.open();
    until_frozen(&fleet, &process, 1).await?;
    let outage = Duration::from_secs(120).div_f64(SPEED);
    holds_for(outage, "nothing is terminated without the API server", || async {
        // Except for the instance of the Machine that was deleted before.
        ensure!(fleet.cloud().live() >= 5, "{} instances", fleet.cloud().live());
        Ok(())
    })
    .await?;

    // It is back, and the caches are not listed yet.
    let lists = Gate::new();
    let listing = Match::any().verbs([Verb::List]).resource("nodes");
    fleet.proxy.add_rule(Rule::new(listing, Effect::Hold(lists.clone())));
    fleet.proxy.refuse_all(false);
    lists.reached().await;
    let left = fleet.alive_machines().await?;
    let before = refusals(&process);
    fleet.scale_workers(1).await?;
    until_refused(&fleet, &process, before + 1).await?;
    assert_eq!(fleet.alive_machines().await?, left);

    lists.open();
    until_frozen(&fleet, &process, 0).await?;
    fleet.until_settled(1).await?;
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (6, 1));
    process.kill().await
}

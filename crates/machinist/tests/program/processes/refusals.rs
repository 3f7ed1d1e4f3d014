//! An API server that never takes a write gets a few attempts, not a storm, and its Retry-After is honoured.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_testbed::faults::{Effect, LogEntry, Match, Rule, Verb};

use crate::processes::support::replica::Replica;
use crate::processes::support::time::{PATIENCE, holds_for};
use crate::processes::support::world::{AnnotatorWorld, SMALL};

/// How long attempts are counted from the first one on: one replica may have been there long before the other.
const WINDOW: Duration = Duration::from_secs(30);
/// Attempts in this window, if chance takes off as much as it can from every pause. After a conflict the first
/// pauses are shorter: another client else was faster, and looking again is likely to help.
const MOST_AFTER_CONFLICTS: usize = 11;
const MOST_AFTER_OTHERS: usize = 8;

/// Starts a replica whose every PATCH is refused like this, and waits for the first one.
async fn refused(name: &str, effect: Effect) -> Result<(AnnotatorWorld, Replica)> {
    let world = AnnotatorWorld::new(name).await?;
    let replica = Replica::start(&world, &[]).await?;
    let refusal = replica.proxy.add_rule(Rule::new(Match::any().verbs([Verb::Patch]), effect));
    world.create_set("set", SMALL).await?;
    refusal.hit(1, PATIENCE).await?;
    Ok((world, replica))
}

/// How many of these came no later than the window.
fn within_window(replica: &Replica, entries: Vec<LogEntry>) -> Result<usize> {
    let first = replica.patches().first().context("no attempt")?.at;
    Ok(entries.into_iter().filter(|entry| entry.at < first + WINDOW).count())
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_for_ever_cost_a_few_calls() -> Result<()> {
    let (conflict, throttled) = tokio::try_join!(
        refused("conflict", Effect::answer(409)),
        refused("at-once", Effect::too_many_requests(0))
    )?;
    holds_for(WINDOW, "no storm", async || {
        for ((_, replica), most) in
            [(&conflict, MOST_AFTER_CONFLICTS), (&throttled, MOST_AFTER_OTHERS)]
        {
            let attempts = within_window(replica, replica.patches())?;
            ensure!(attempts <= most, "{attempts} attempts");
        }
        Ok(())
    })
    .await?;
    for (world, replica) in [&conflict, &throttled] {
        let attempts = within_window(replica, replica.patches())?;
        println!("{}: {attempts} attempts in {WINDOW:?}", world.namespace);
        assert!(attempts >= 3, "it goes on trying");
        // All requests, live reads included, are as rare.
        let all = within_window(replica, replica.proxy.log().entries())?;
        assert!(all <= 3 * MOST_AFTER_CONFLICTS, "{all} requests: {}", replica.proxy.log());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_honoured() -> Result<()> {
    let pause = Duration::from_secs(6);
    let (world, replica) = refused("wait", Effect::too_many_requests(6)).await?;
    replica.proxy.clear_rules();
    world.annotated("set", SMALL).await?;
    let patches = replica.patches();
    assert_eq!(patches.len(), 2, "{}", replica.proxy.log());
    let waited = patches[1].at.saturating_sub(patches[0].at);
    assert!(waited >= pause, "{waited:?}");
    Ok(())
}

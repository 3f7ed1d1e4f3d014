//! An API server in trouble: as long as the lease can be renewed no other process leads; when it cannot, no process
//! writes.

use std::time::Duration;

use anyhow::{Result, ensure};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll;

use super::Group;
use crate::processes::support::replica::{LEADER, Replica};
use crate::processes::support::time::{PATIENCE, disturbance, holds_for};
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL};

/// Backoffs at a quarter of their length, so that the tests do not wait for the longest of them.
const QUICK: [&str; 2] = ["--time-scale", "0.25"];

#[tokio::test(flavor = "multi_thread")]
async fn throttling_of_everything_but_leases_changes_no_leader() -> Result<()> {
    let world = AnnotatorWorld::new("throttled").await?;
    let replicas = vec![
        Replica::electing(&world, "6s", &QUICK).await?,
        Replica::electing(&world, "6s", &QUICK).await?,
    ];
    let (leader, followers) = Group(replicas).split(&world).await?;
    world.create_set("before", SMALL).await?;
    world.annotated("before", SMALL).await?;
    let before = world.lease().await?;

    let both = [&leader, &followers[0]];
    for replica in both {
        replica.proxy.add_rule(Rule::throttle_all_but_leases(1));
        // Watches must be opened again, which is refused.
        replica.proxy.cut_connections();
    }
    world.create_set("during", SMALL).await?;
    world.change_set("before", LARGE).await?;
    let length = disturbance(Duration::from_secs(20), Duration::from_secs(60));
    holds_for(length, "the same leader", async || {
        ensure!(world.lease().await? == before, "{before:?} became {:?}", world.lease().await?);
        ensure!(leader.leads().await?, "the leader stepped down");
        ensure!(!followers[0].leads().await?, "two leaders");
        Ok(())
    })
    .await?;
    assert_eq!(world.vcpus("during").await?, None, "nothing can be written meanwhile");

    for replica in both {
        replica.proxy.clear_rules();
    }
    world.annotated("during", SMALL).await?;
    world.annotated("before", LARGE).await?;
    assert_eq!(world.lease().await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_leases_the_leader_steps_down_and_comes_back() -> Result<()> {
    let world = AnnotatorWorld::new("no-leases").await?;
    let (mut leader, _) =
        Group(vec![Replica::electing(&world, "3s", &QUICK).await?]).split(&world).await?;
    for (round, effect) in
        [Effect::answer(500), Effect::ResetBefore, Effect::Timeout].into_iter().enumerate()
    {
        let trouble = leader.proxy.add_rule(Rule::new(Match::any().resource("leases"), effect));
        leader.process.wait_metric(LEADER, |value| value < 0.5).await?;
        let stepped_down = leader.proxy.log().now();
        let name = format!("set-{round}");
        world.create_set(&name, SMALL).await?;
        holds_for(Duration::from_secs(3), "no process writes", async || {
            let effects = leader.effects_since(stepped_down);
            ensure!(effects.is_empty(), "{}", effects[0]);
            ensure!(!leader.leads().await?, "it leads without a lease");
            leader.process.ensure_alive()
        })
        .await?;
        trouble.remove();
        world.annotated(&name, SMALL).await?;
        leader.process.wait_metric(LEADER, |value| value > 0.5).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_was_abandoned_with_the_lease_is_taken_up_again() -> Result<()> {
    let world = AnnotatorWorld::new("abandoned").await?;
    let (leader, _) =
        Group(vec![Replica::electing(&world, "3s", &QUICK).await?]).split(&world).await?;
    // A write breaks off, so the next reconcile reads past the cache, which hangs.
    let of_the_set = Match::any().resource("machinesets").name("set");
    leader
        .proxy
        .add_rule(Rule::new(of_the_set.clone().verbs([Verb::Patch]), Effect::ResetBefore).times(1));
    let hang = leader.proxy.add_rule(Rule::new(of_the_set, Effect::Timeout));
    world.create_set("set", SMALL).await?;
    hang.hit(1, PATIENCE).await?;
    leader.proxy.add_rule(Rule::new(Match::any().resource("leases"), Effect::answer(500)));
    leader.process.wait_metric(LEADER, |value| value < 0.5).await?;
    poll::eventually(PATIENCE, "the reconcile to be abandoned", || async {
        let log = leader.process.log()?;
        ensure!(log.contains("aborting"), "{log}");
        Ok(())
    })
    .await?;
    leader.proxy.clear_rules();
    world.annotated("set", SMALL).await?;
    Ok(())
}

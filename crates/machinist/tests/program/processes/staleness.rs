//! A cache that lags, is cut off or misses events: right in the end, and what we wrote ourselves is never forgotten.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use machinist_testbed::faults::{Effect, EventFilter, Match, Rule, Verb};
use machinist_testbed::poll;

use crate::processes::support::replica::Replica;
use crate::processes::support::time::{PATIENCE, disturbance, holds_for};
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL, Shape};

const CACHED: &str = r#"machinist_cache_objects{kind="MachineSet"}"#;
const REPAIRS: &str = r#"machinist_cache_repairs_total{kind="MachineSet"}"#;

fn watches() -> Match {
    Match::any().verbs([Verb::Watch]).resource("machinesets")
}

#[tokio::test(flavor = "multi_thread")]
async fn own_writes_are_not_forgotten_while_the_watch_lags() -> Result<()> {
    let world = AnnotatorWorld::new("lag").await?;
    let lag = disturbance(Duration::from_secs(3), Duration::from_secs(10));
    let proxy = world.another_proxy().await?;
    proxy.add_rule(Rule::new(watches(), Effect::DelayEvents(lag)));
    // Every resync lists everything again, while the watch still delivers old events.
    let replica = Replica::behind(proxy, &world, &["--sync-period", "1s"]).await?;
    replica.process.wait_ready().await?;
    let names: Vec<_> = (0..10).map(|n| format!("set-{n}")).collect();
    for name in &names {
        world.create_set(name, SMALL).await?;
    }
    for name in &names {
        world.annotated(name, SMALL).await?;
    }
    // The watch delivers the last own write in this time.
    holds_for(lag * 2, "one write each", async || {
        ensure!(replica.patches().len() == names.len(), "{}", replica.proxy.log());
        Ok(())
    })
    .await?;
    for name in &names {
        world.change_set(name, LARGE).await?;
    }
    for name in &names {
        world.annotated(name, LARGE).await?;
    }
    // The proxy notes an answer after the API server has carried the write out.
    let patches_of = |name: &String| {
        let mut patches = replica.patches();
        patches
            .retain(|entry| entry.request.name.as_ref() == Some(name) && entry.status == Some(200));
        patches.len()
    };
    for name in &names {
        poll::eventually(PATIENCE, "the answers", || async {
            ensure!(patches_of(name) >= 2, "{}", replica.proxy.log());
            Ok(())
        })
        .await?;
        assert_eq!(patches_of(name), 2, "{name}: one write for each change");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_drop_every_second_leave_the_cache_right() -> Result<()> {
    let world = AnnotatorWorld::new("drops").await?;
    let mut replica = Replica::start(&world, &[]).await?;
    replica.process.wait_ready().await?;
    let end = Instant::now() + disturbance(Duration::from_secs(10), Duration::from_secs(60));
    let cuts = replica.proxy.cut_connections_every(Duration::from_secs(1));
    // What should be there in the end, by name.
    let mut wanted: Vec<(String, Shape)> = Vec::new();
    let reconnects = || replica.proxy.log().matching(&watches()).len();
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < end || (reconnects() < 5 && Instant::now() < limit) {
        let name = format!("set-{}", wanted.len());
        world.create_set(&name, SMALL).await?;
        wanted.push((name, SMALL));
        let at = fastrand::usize(..wanted.len());
        let (name, shape) = &mut wanted[at];
        *shape = LARGE;
        world.change_set(name, *shape).await?;
        if wanted.len().is_multiple_of(4) {
            let (gone, shape) = wanted.swap_remove(at);
            world.delete_set(&gone).await?;
            // The same name with another uid.
            world.create_set(&gone, shape).await?;
            wanted.push((gone, shape));
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    drop(cuts);
    for (name, shape) in &wanted {
        world.annotated(name, *shape).await?;
    }
    let (gone, _) = wanted.pop().context("at least one set")?;
    world.delete_set(&gone).await?;
    let count = f64::from(u32::try_from(wanted.len())?);
    replica.process.wait_metric(CACHED, |value| (value - count).abs() < 0.5).await?;
    let reconnects = reconnects();
    println!("{} sets, {reconnects} watches", wanted.len());
    assert!(reconnects >= 5, "the connections did drop");
    replica.process.ensure_alive()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resync_repairs_what_the_watch_did_not_report() -> Result<()> {
    let world = AnnotatorWorld::new("hidden").await?;
    let proxy = world.another_proxy().await?;
    proxy.add_rule(Rule::new(watches(), Effect::HideEvents(EventFilter::all())));
    let replica = Replica::behind(proxy, &world, &["--sync-period", "2s"]).await?;
    replica.process.wait_ready().await?;
    world.create_set("set", SMALL).await?;
    world.create_set("gone", SMALL).await?;
    world.annotated("set", SMALL).await?;
    world.annotated("gone", SMALL).await?;
    world.change_set("set", LARGE).await?;
    world.annotated("set", LARGE).await?;
    world.delete_set("gone").await?;
    replica.process.wait_metric(CACHED, |value| (value - 1.0).abs() < 0.5).await?;
    // Two creations, a change and a deletion.
    replica.process.wait_metric(REPAIRS, |value| value > 3.5).await?;
    assert_eq!(replica.patches().len(), 3, "{}", replica.proxy.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_is_too_old_leads_to_a_list_at_once() -> Result<()> {
    let world = AnnotatorWorld::new("too-old").await?;
    let replica = Replica::start(&world, &[]).await?;
    replica.process.wait_ready().await?;
    // A pause of the backoff comes again in every round; a stall of this machine does not.
    let mut pauses = Vec::new();
    for round in 0..3 {
        pauses.push(pause_after_410(&world, &replica, &format!("set-{round}")).await?);
        // The pause after so many failures is four seconds at least.
        if pauses.last().is_some_and(|pause| *pause < Duration::from_secs(4)) {
            return Ok(());
        }
    }
    bail!("{pauses:?}");
}

/// How long after the answer 410 to a watch the next request for MachineSets, a list, comes.
async fn pause_after_410(world: &AnnotatorWorld, replica: &Replica, set: &str) -> Result<Duration> {
    let start = replica.proxy.log().now();
    // As after a restart of the API server: first it is not there, then it does not remember.
    replica.proxy.add_rule(Rule::new(watches(), Effect::answer(503)).times(5));
    let forgotten = replica.proxy.add_rule(Rule::new(watches(), Effect::answer(410)).times(1));
    replica.proxy.cut_connections();
    world.create_set(set, SMALL).await?;
    forgotten.hit(1, PATIENCE).await?;
    world.annotated(set, SMALL).await?;
    let mut of_sets = replica.proxy.log().matching(&Match::any().resource("machinesets"));
    of_sets.retain(|entry| entry.at >= start);
    let at = of_sets.iter().position(|entry| entry.status == Some(410)).context("a 410")?;
    let next = of_sets.get(at + 1).context("a request after it")?;
    ensure!(next.request.verb == Verb::List, "{next}");
    Ok(next.at.saturating_sub(of_sets[at].at))
}

//! One leads, and when it dies or sleeps another one does.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::api::ListParams;
use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::poll;
use rustix::process::Signal;

use super::Group;
use crate::processes::support::replica::{LEADER, Replica};
use crate::processes::support::time::{PATIENCE, holds_for, with_slack};
use crate::processes::support::world::{AnnotatorWorld, LARGE, LEASE, SMALL};

const LEASE_DURATION: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_acts_within_the_lease_duration_after_kill_9() -> Result<()> {
    let world = AnnotatorWorld::new("killed").await?;
    let (mut leader, followers) = Group::start(&world, 3, "3s").await?.split(&world).await?;
    world.create_set("first", SMALL).await?;
    world.annotated("first", SMALL).await?;
    for follower in &followers {
        ensure!(follower.effects_since(Duration::ZERO).is_empty(), "a follower wrote");
    }
    let (_, transitions) = world.lease().await?;

    let killed = Instant::now();
    leader.process.kill().await?;
    world.create_set("second", LARGE).await?;
    world.annotated("second", LARGE).await?;
    let took = killed.elapsed();
    println!("a follower acted {took:?} after kill -9");
    assert!(took <= with_slack(LEASE_DURATION + Duration::from_secs(1)), "{took:?}");
    assert_eq!(world.lease().await?.1, transitions + 1);
    let (second, others) = Group(followers).split(&world).await?;
    assert_eq!(second.patches().len(), 1);
    for replica in [&leader, &second, &others[0]] {
        replica.ensure_user_agents()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_paused_past_its_lease_has_no_effect_after_the_takeover() -> Result<()> {
    let world = AnnotatorWorld::new("paused").await?;
    let (mut paused, mut followers) = Group::start(&world, 2, "3s").await?.split(&world).await?;
    // One write is on its way while the process sleeps, and lands after the takeover.
    let gate = Gate::new();
    let held = Match::any().verbs([Verb::Patch]).name("held");
    paused.proxy.add_rule(Rule::new(held.clone(), Effect::Hold(gate.clone())).times(1));
    world.create_set("held", SMALL).await?;
    tokio::time::timeout(PATIENCE, gate.reached()).await?;
    paused.process.signal(Signal::STOP)?;

    // Work that waits for it when it wakes up.
    let names: Vec<_> = (0..20).map(|n| format!("set-{n}")).collect();
    for name in &names {
        world.create_set(name, SMALL).await?;
    }
    for name in names.iter().chain([&"held".to_owned()]) {
        world.annotated(name, SMALL).await?;
    }
    let takeover = paused.proxy.log().now();
    gate.open();
    let late = poll::eventually(PATIENCE, "the late write's answer", || async {
        let late = paused.proxy.log().matching(&held);
        ensure!(late[0].status.is_some(), "{}", late[0]);
        Ok(late[0].clone())
    })
    .await?;
    assert_eq!(late.status, Some(409), "{late}");
    for name in &names {
        world.change_set(name, LARGE).await?;
    }
    paused.process.signal(Signal::CONT)?;

    paused.process.wait_metric(LEADER, |value| value < 0.5).await?;
    let warm = r#"machinist_cache_objects{kind="MachineSet"}"#;
    paused.process.wait_metric(warm, |value| value > 20.5).await?;
    for name in &names {
        world.annotated(name, LARGE).await?;
    }
    holds_for(LEASE_DURATION, "no effect of the process that was paused", async || {
        let effects = paused.effects_since(takeover);
        ensure!(effects.is_empty(), "{}", effects[0]);
        paused.process.ensure_alive()
    })
    .await?;

    // A warm follower: it leads again when it is its turn.
    followers[0].process.kill().await?;
    world.create_set("again", LARGE).await?;
    world.annotated("again", LARGE).await?;
    paused.process.wait_metric(LEADER, |value| value > 0.5).await
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_with_different_controllers_share_one_lease_per_controller() -> Result<()> {
    let world = AnnotatorWorld::new("deployments").await?;
    let one = Replica::electing(&world, "3s", &["--controllers", "annotator"]).await?;
    // Beside the annotator one that never writes MachineSets.
    let two = Replica::electing(&world, "3s", &["--controllers", "annotator,nodelink"]).await?;
    for replica in [&one, &two] {
        replica.process.wait_ready().await?;
    }
    let (leader, followers) = Group(vec![one, two]).split(&world).await?;
    for name in ["a", "b", "c"] {
        world.create_set(name, SMALL).await?;
    }
    for name in ["a", "b", "c"] {
        world.annotated(name, SMALL).await?;
    }
    assert_eq!(leader.patches().len(), 3);
    assert!(followers[0].patches().is_empty(), "only the leader writes");
    // The annotators contend for one Lease, and the other controller has its own.
    poll::eventually(PATIENCE, "a Lease for each controller", || async {
        let leases = world.leases().list(&ListParams::default()).await?.items;
        let names: Vec<_> =
            leases.iter().filter_map(|lease| lease.metadata.name.as_deref()).collect();
        ensure!(names == ["cluster-api-provider-nodelink-leader", LEASE], "{names:?}");
        Ok(())
    })
    .await
}

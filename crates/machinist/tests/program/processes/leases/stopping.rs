//! SIGTERM: exit code 0 in under ten seconds whatever the API server does, and a lease that is given back when that is
//! safe, and only then.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use machinist_testbed::faults::{Effect, Gate, LogEntry, Match, Rule, Verb};
use machinist_testbed::poll;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::Group;
use crate::processes::support::process::Process;
use crate::processes::support::replica::{LEADER, Replica};
use crate::processes::support::time::{PATIENCE, busy, with_slack};
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL};

/// The promise itself.
const EXIT_LIMIT: Duration = Duration::from_secs(10);
/// So long that no follower can have waited for it to run out.
const LONG_LEASE: &str = "120s";

async fn ensure_clean_exit(process: &mut Process) -> Result<()> {
    let (status, took) = process.terminate().await?;
    println!("stopped within {took:?}");
    ensure!(status.code() == Some(0), "{status}");
    ensure!(took < EXIT_LIMIT + busy(), "{took:?}");
    Ok(())
}

/// What a replica wrote into its Lease last.
fn last_lease_write(replica: &Replica) -> Result<(LogEntry, String)> {
    let writes = replica.proxy.log().matching(&Match::writes().resource("leases"));
    let last = writes.last().cloned().context("no write to the Lease")?;
    let lease = last.request.json().context("a Lease")?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
    Ok((last, holder))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_gives_the_lease_back_and_a_follower_acts_at_once() -> Result<()> {
    let world = AnnotatorWorld::new("stopped").await?;
    let (mut leader, followers) = Group::start(&world, 2, LONG_LEASE).await?.split(&world).await?;
    world.create_set("first", SMALL).await?;
    world.annotated("first", SMALL).await?;

    ensure_clean_exit(&mut leader.process).await?;
    let stopped = Instant::now();
    let (release, holder) = last_lease_write(&leader)?;
    assert_eq!((release.status, holder.as_str()), (Some(200), ""), "{release}");
    let writes = leader.proxy.log().matching(&Match::writes());
    assert_eq!(writes.last().map(|last| last.at), Some(release.at), "nothing after the release");

    world.create_set("second", LARGE).await?;
    world.annotated("second", LARGE).await?;
    let took = stopped.elapsed();
    println!("a follower acted {took:?} after a clean stop");
    assert!(took <= with_slack(Duration::from_secs(2)), "{took:?}");
    followers[0].process.wait_metric(LEADER, |value| value > 0.5).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_lost_the_race_for_the_lease_watches_it_at_once() -> Result<()> {
    let world = AnnotatorWorld::new("race").await?;
    let (mut leader, _) = Group::start(&world, 1, LONG_LEASE).await?.split(&world).await?;
    // The second one believes that there is no Lease yet, as both do when they start together.
    let proxy = world.another_proxy().await?;
    let first_look = Match::any().verbs([Verb::Get]).resource("leases");
    proxy.add_rule(Rule::new(first_look, Effect::answer(404)).times(1));
    let loser = Replica::electing_behind(proxy, &world, LONG_LEASE, &[]).await?;
    loser.process.wait_ready().await?;
    poll::eventually(PATIENCE, "the lost race", || async {
        let creates = loser.proxy.log().matching(&Match::any().verbs([Verb::Create]));
        ensure!(creates.iter().any(|entry| entry.status == Some(409)), "{}", loser.proxy.log());
        Ok(())
    })
    .await?;
    ensure_clean_exit(&mut leader.process).await?;
    let stopped = Instant::now();
    world.create_set("set", SMALL).await?;
    world.annotated("set", SMALL).await?;
    let took = stopped.elapsed();
    assert!(took <= with_slack(Duration::from_secs(2)), "{took:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_whose_last_renewal_was_not_answered_is_given_back_all_the_same() -> Result<()> {
    let world = AnnotatorWorld::new("unanswered").await?;
    let (mut leader, _) = Group::start(&world, 1, "15s").await?.split(&world).await?;
    let gate = Gate::new();
    let renewal = Match::any().verbs([Verb::Update]).resource("leases");
    leader.proxy.add_rule(Rule::new(renewal, Effect::HoldAfter(gate.clone())).times(1));
    tokio::time::timeout(PATIENCE, gate.reached()).await?;
    ensure_clean_exit(&mut leader.process).await?;
    assert_eq!(world.lease().await?.0, "", "no successor has to wait for it");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_hangs_holds_up_neither_the_exit_nor_safety() -> Result<()> {
    let world = AnnotatorWorld::new("hanging").await?;
    let (mut leader, _) = Group::start(&world, 1, LONG_LEASE).await?.split(&world).await?;
    let hang = leader.proxy.add_rule(Rule::new(Match::any().name("hangs"), Effect::Timeout));
    world.create_set("hangs", SMALL).await?;
    hang.hit(1, PATIENCE).await?;
    ensure_clean_exit(&mut leader.process).await?;
    // That write may still land, so no other process may lead before the lease has expired.
    let (_, holder) = last_lease_write(&leader)?;
    assert!(leader.process.is_called(&holder), "given back with a write under way: {holder:?}");
    assert!(leader.process.is_called(&world.lease().await?.0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_answers_nothing_any_more_does_not_hold_up_the_exit() -> Result<()> {
    let world = AnnotatorWorld::new("silent").await?;
    let (mut leader, _) = Group::start(&world, 1, "15s").await?.split(&world).await?;
    let silence = leader.proxy.add_rule(Rule::new(Match::any(), Effect::Timeout));
    world.create_set("unheard", SMALL).await?;
    silence.hit(1, PATIENCE).await?;
    // Nor does a client that never finishes its request.
    let mut prober = TcpStream::connect(leader.process.health_address()).await?;
    prober.write_all(b"GET /readyz HTTP/1.1\r\n").await?;
    ensure_clean_exit(&mut leader.process).await
}

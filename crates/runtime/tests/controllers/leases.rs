//! Leases that another system holds, too: respected while it renews, taken over by force.

use std::pin::pin;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::DeleteParams;
use machinist_runtime::clock::{Clock, SystemClock};
use machinist_runtime::manager::Options;
use machinist_runtime::timings::Timings;
use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::lease::{ForeignLease, TRANSITIONS};
use machinist_testbed::poll::{eventually, holds_for};

use crate::toys::{SHARED_LEASE, ShareLease, toy};
use crate::world::{PATIENCE, Running, ToyWorld, timings};

const GO: &str = "go-process_1234";
/// Longer than ours.
const GO_DURATION: Duration = Duration::from_secs(4);

fn now() -> String {
    format!("{:.6}", SystemClock.now())
}

/// A Lease that a Go process holds.
async fn go_process(world: &ToyWorld, duration: Duration) -> ForeignLease {
    let leases = Api::namespaced(world.client.clone(), &world.namespace);
    ForeignLease::create(leases, SHARED_LEASE, GO, duration, &now()).await.unwrap()
}

fn elect(world: &ToyWorld, take_over: bool) -> Options {
    Options { leader_elect: Some(true), take_over, ..world.options() }
}

/// When a ConfigMap was first written, if ever.
fn first_write(world: &ToyWorld) -> Option<Duration> {
    let entries = world.proxy.log().entries();
    let wrote = |entry: &&machinist_testbed::faults::LogEntry| {
        entry.request.verb.is_write() && entry.request.resource == "configmaps"
    };
    entries.iter().find(wrote).map(|entry| entry.at)
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_that_a_go_process_renews_is_respected_and_shown() {
    for _ in 0..3 {
        let world = ToyWorld::new("go").await;
        world.create_config_maps(1).await;
        let go = go_process(&world, GO_DURATION).await;
        let options = elect(&world, false);
        let me = options.identity.clone();
        let renewals = go.keep_renewing(now);
        let running = world.run(options, vec![toy::<ShareLease>(&std::sync::Arc::default())]);
        let followed = follows(&world, &running, &go).await;
        if !renewals.stop() {
            println!("this machine stalled for longer than the lease lasts: {followed:?}");
            continue;
        }
        followed.unwrap();

        // It dies.
        world.all_marked(1).await;
        assert_eq!(go.holder().await.unwrap(), (me.clone(), TRANSITIONS + 1));
        let lease = format!("{}/{SHARED_LEASE}", world.namespace);
        running
            .assert_readiness(&format!("lease {lease} is held by {me}, which is this process"))
            .await;
        let metrics = running.shared.metrics.encode(&[]).unwrap();
        assert!(metrics.contains(&holds(&lease, &me)) && !metrics.contains(GO), "{metrics}");
        running.stop().await;
        return;
    }
    panic!("this machine stalls all the time");
}

fn holds(lease: &str, holder: &str) -> String {
    format!(r#"machinist_lease_holder{{lease="{lease}",holder="{holder}"}} 1"#)
}

/// The Go process keeps its Lease for longer than it lasts, and is shown as its holder.
async fn follows(world: &ToyWorld, running: &Running, go: &ForeignLease) -> Result<()> {
    let lease = format!("{}/{SHARED_LEASE}", world.namespace);
    let follows = format!("lease {lease} is held by {GO}, so controller share-lease follows");
    running.until_readiness(&follows).await?;
    let metrics = running.shared.metrics.encode(&[])?;
    ensure!(metrics.contains(&holds(&lease, GO)), "{metrics}");
    holds_for(GO_DURATION * 5 / 4, "the Go process keeps its Lease", async || {
        ensure!(go.holder().await?.0 == GO, "taken from a live holder");
        ensure!(first_write(world).is_none(), "written without the Lease");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_takeover_waits_until_the_holder_must_have_noticed() {
    takes_over("force", None).await;
}

/// The takeover is executed, but its answer is lost: what is read then looks like a lease of our own.
#[tokio::test(flavor = "multi_thread")]
async fn forced_takeover_without_an_answer_waits_as_long() {
    takes_over("unheard", Some(Effect::LoseAnswer)).await;
}

async fn takes_over(name: &str, fault: Option<Effect>) {
    let world = ToyWorld::new(name).await;
    world.create_config_maps(1).await;
    let go = go_process(&world, GO_DURATION).await;
    let lease_writes = Match::writes().resource("leases");
    let fault =
        fault.map(|fault| world.proxy.add_rule(Rule::new(lease_writes.clone(), fault).times(1)));
    let options = elect(&world, true);
    let me = options.identity.clone();
    let running = world.run(options, vec![toy::<ShareLease>(&std::sync::Arc::default())]);
    let taken = eventually(PATIENCE, "the lease is taken over", || async {
        ensure!(go.holder().await? == (me.clone(), TRANSITIONS + 1));
        Ok(())
    });
    taken.await.unwrap();
    world.all_marked(1).await;
    assert!(fault.is_none_or(|fault| fault.hits() == 1));
    let took = world.proxy.log().matching(&lease_writes)[0].at;
    let waited = first_write(&world).unwrap().saturating_sub(took);
    assert!(waited >= GO_DURATION, "written {waited:?} after the lease was taken");
    running.stop().await;
    assert_eq!(go.holder().await.unwrap().0, "", "given back on a clean stop");
}

/// The holder of a deleted Lease writes until its next renewal.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_lease_is_not_acquired_before_its_holder_must_have_stopped() {
    let world = ToyWorld::new("deleted").await;
    world.create_config_maps(1).await;
    go_process(&world, GO_DURATION).await;
    let options = elect(&world, false);
    let running = world.run(options, vec![toy::<ShareLease>(&std::sync::Arc::default())]);
    let lease = format!("{}/{SHARED_LEASE}", world.namespace);
    running.assert_readiness(&format!("lease {lease} is held by {GO}")).await;
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), &world.namespace);
    let deleted = world.proxy.log().now();
    leases.delete(SHARED_LEASE, &DeleteParams::default()).await.unwrap();
    world.all_marked(1).await;
    let acquired = world.proxy.log().matching(&Match::writes().resource("leases"))[0].at;
    let waited = acquired.saturating_sub(deleted);
    assert!(waited >= GO_DURATION, "acquired {waited:?} after it was deleted");
    running.stop().await;
}

/// One renewal is lost on its way; the next attempt comes before the lease is lost.
#[tokio::test(flavor = "multi_thread")]
async fn renewal_that_does_not_arrive_does_not_cost_the_lease() {
    stays_leader("hung", Effect::Timeout).await;
}

/// One renewal is executed, but not answered: the next one conflicts, and the one after it comes at once.
#[tokio::test(flavor = "multi_thread")]
async fn renewal_without_an_answer_does_not_cost_the_lease() {
    stays_leader("unheard-renewal", Effect::HoldAfter(Gate::new())).await;
}

async fn stays_leader(name: &str, fault: Effect) {
    let world = ToyWorld::new(name).await;
    world.create_config_maps(1).await;
    // Long enough for a busy machine: attempts have 4, then 1 second.
    let timings = Timings { lease: Duration::from_secs(15), ..timings() };
    let controllers = vec![toy::<ShareLease>(&std::sync::Arc::default())];
    let running = world.run_with(&timings, elect(&world, false), controllers);
    world.all_marked(1).await;
    let writes = Match::writes().resource("leases");
    let hung = world.proxy.add_rule(Rule::new(writes.clone(), fault).times(1));
    hung.hit(1, PATIENCE).await.unwrap();
    let hung_at = world.proxy.log().now();
    let leading = r#"machinist_leader{controller="share-lease"} 1"#;
    let renewed = async {
        loop {
            assert!(running.shared.metrics.encode(&[]).unwrap().contains(leading), "lost");
            let later = world.proxy.log().matching(&writes).into_iter();
            if later.filter(|one| one.at > hung_at).any(|one| one.status == Some(200)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, renewed).await.expect("the lease is never renewed");
    running.stop().await;
}

/// A renewal conflicts, and reading the unchanged Lease takes longer than the lease lasts.
#[tokio::test(flavor = "multi_thread")]
async fn lease_that_expired_during_a_read_is_renewed_before_leading() {
    let world = ToyWorld::new("late").await;
    world.create_config_maps(1).await;
    let options = elect(&world, false);
    let running = world.run(options, vec![toy::<ShareLease>(&std::sync::Arc::default())]);
    world.all_marked(1).await;
    let leads = || {
        let metrics = running.shared.metrics.encode(&[]).unwrap();
        metrics.contains(r#"machinist_leader{controller="share-lease"} 1"#)
    };
    let reads = Match::any().verbs([Verb::Get]).resource("leases");
    let unread = world.proxy.add_rule(Rule::new(reads, Effect::answer(500)));
    let writes = Match::writes().resource("leases");
    let conflict = world.proxy.add_rule(Rule::new(writes.clone(), Effect::answer(409)).times(1));
    conflict.hit(1, PATIENCE).await.unwrap();
    let late = eventually(PATIENCE, "it ran out", || async {
        ensure!(!leads(), "it leads");
        Ok(())
    });
    late.await.unwrap();
    let before = world.proxy.log().matching(&writes).len();
    unread.remove();
    // Every poll would see a leader with an expired lease.
    let leading = async {
        while !leads() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, leading).await.expect("the lease is never renewed");
    assert!(world.proxy.log().matching(&writes).len() > before, "leads without a renewal");
    running.stop().await;
}

/// The process is stopped before it knows that it has acquired the Lease.
#[tokio::test(flavor = "multi_thread")]
async fn lease_acquired_during_shutdown_is_released() {
    let world = ToyWorld::new("taking").await;
    let gate = Gate::new();
    let writes = Match::writes().resource("leases");
    world.proxy.add_rule(Rule::new(writes, Effect::HoldAfter(gate.clone())).times(1));
    let timings = Timings { stop_grace: PATIENCE, ..timings() };
    let controllers = vec![toy::<ShareLease>(&std::sync::Arc::default())];
    let running = world.run_with(&timings, elect(&world, false), controllers);
    gate.reached().await;
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), &world.namespace);
    let holder = || async { leases.get(SHARED_LEASE).await.unwrap().spec.unwrap().holder_identity };
    assert!(holder().await.is_some_and(|holder| !holder.is_empty()));
    let mut stopping = pin!(running.stop());
    let early = tokio::time::timeout(Duration::from_millis(500), stopping.as_mut()).await;
    assert!(early.is_err(), "it ended without the answer");
    gate.open();
    stopping.await;
    assert_eq!(holder().await.unwrap_or_default(), "");
}

/// After a takeover the new leader waits until the former one must have noticed.
#[tokio::test(flavor = "multi_thread")]
async fn taken_over_lease_is_not_released_before_its_holder_must_have_noticed() {
    let world = ToyWorld::new("hasty").await;
    let go = go_process(&world, 4 * PATIENCE).await;
    let options = elect(&world, true);
    let me = options.identity.clone();
    let running = world.run(options, vec![toy::<ShareLease>(&std::sync::Arc::default())]);
    let lease = format!("{}/{SHARED_LEASE}", world.namespace);
    running
        .assert_readiness(&format!("lease {lease} is held by {me}, which is this process"))
        .await;
    running.stop().await;
    assert_eq!(go.holder().await.unwrap(), (me, TRANSITIONS + 1));
}

//! `renewTime` comes from another clock: it may be a year off in either direction, and nothing depends on it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use machinist_testbed::lease::{ForeignLease, TRANSITIONS};
use machinist_testbed::poll;

use crate::processes::support::replica::Replica;
use crate::processes::support::time::{PATIENCE, holds_for, with_slack};
use crate::processes::support::world::{AnnotatorWorld, LEASE, SMALL};

const LEASE_DURATION: Duration = Duration::from_secs(3);
const STRANGER: &str = "stranger";

/// A year before or after the present.
fn a_year(direction: i64) -> Result<String> {
    let time = Timestamp::now().checked_add(SignedDuration::from_hours(direction * 24 * 365))?;
    Ok(format!("{time:.6}"))
}

async fn foreign_lease(world: &AnnotatorWorld) -> Result<ForeignLease> {
    ForeignLease::create(world.leases(), LEASE, STRANGER, LEASE_DURATION, &a_year(-1)?).await
}

/// Waits until the replica leads, and returns the time since `start`.
async fn taken(world: &AnnotatorWorld, replica: &Replica, start: Instant) -> Result<Duration> {
    poll::eventually(PATIENCE, "the takeover", || async {
        let (holder, transitions) = world.lease().await?;
        ensure!(replica.process.is_called(&holder), "{holder} has it");
        ensure!(transitions == TRANSITIONS + 1, "{transitions} transitions");
        Ok(start.elapsed())
    })
    .await
}

/// Fails as soon as the replica takes the Lease from its holder.
async fn follows(world: &AnnotatorWorld, lease: &ForeignLease, replica: &Replica) -> Result<()> {
    world.create_set("set", SMALL).await?;
    holds_for(LEASE_DURATION * 3, "the live holder keeps it", async || {
        ensure!(lease.holder().await?.0 == STRANGER, "taken from a live holder");
        ensure!(replica.effects_since(Duration::ZERO).is_empty(), "written without the lease");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_holder_keeps_its_lease_whatever_its_clock_says() -> Result<()> {
    for _ in 0..3 {
        let world = AnnotatorWorld::new("slow-clock").await?;
        let lease = foreign_lease(&world).await?;
        // It renews, with times that are a year old.
        let renewals = lease.keep_renewing(|| a_year(-1).unwrap_or_default());
        let replica = Replica::electing(&world, "3s", &[]).await?;
        let followed = follows(&world, &lease, &replica).await;
        if !renewals.stop() {
            println!("this machine stalled for longer than the lease lasts: {followed:?}");
            continue;
        }
        followed?;
        return the_holder_dies(&world, &lease, &replica).await;
    }
    bail!("this machine stalls all the time")
}

async fn the_holder_dies(
    world: &AnnotatorWorld,
    lease: &ForeignLease,
    replica: &Replica,
) -> Result<()> {
    // It leaves a time in the future.
    let died = Instant::now();
    lease.renew(&a_year(1)?).await?;
    let took = taken(world, replica, died).await?;
    println!("taken over {took:?} after the last renewal");
    assert!(took >= LEASE_DURATION, "too early: {took:?}");
    assert!(took <= with_slack(LEASE_DURATION + Duration::from_secs(1)), "too late: {took:?}");
    world.annotated("set", SMALL).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_long_ago_does_not_make_a_lease_free() -> Result<()> {
    let world = AnnotatorWorld::new("old-time").await?;
    foreign_lease(&world).await?;
    let start = Instant::now();
    let replica = Replica::electing(&world, "3s", &[]).await?;
    let took = taken(&world, &replica, start).await?;
    // Whether its holder lives can be seen only by watching for as long as the lease lasts.
    assert!(took >= LEASE_DURATION, "too early: {took:?}");
    Ok(())
}

//! `renewTime` comes from another clock: it may be a year off in either direction, and nothing depends on it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams, PostParams};
use machinist_testbed::poll;
use serde_json::json;

use crate::processes::support::replica::Replica;
use crate::processes::support::scene::{LEASE, SMALL, Scene};
use crate::processes::support::time::{PATIENCE, SLACK, holds_for};

const LEASE_DURATION: Duration = Duration::from_secs(3);
const STRANGER: &str = "stranger";

/// A year before or after the present.
fn a_year(direction: i64) -> Result<String> {
    let time = Timestamp::now().checked_add(SignedDuration::from_hours(direction * 24 * 365))?;
    Ok(format!("{time:.6}"))
}

async fn create_foreign_lease(scene: &Scene, renewed: &str) -> Result<()> {
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": LEASE},
        "spec": {
            "holderIdentity": STRANGER,
            "leaseDurationSeconds": LEASE_DURATION.as_secs(),
            "leaseTransitions": 7,
            "acquireTime": renewed,
            "renewTime": renewed,
        },
    }))?;
    scene.leases().create(&PostParams::default(), &lease).await?;
    Ok(())
}

async fn renew(scene: &Scene, renewed: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"renewTime": renewed}}));
    scene.leases().patch(LEASE, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Waits until the replica leads, and returns the time since `start`.
async fn taken(scene: &Scene, replica: &Replica, start: Instant) -> Result<Duration> {
    poll::eventually(PATIENCE, "the takeover", || async {
        let (holder, transitions) = scene.lease().await?;
        ensure!(replica.process.is_called(&holder), "{holder} has it");
        ensure!(transitions == 8, "{transitions} transitions");
        Ok(start.elapsed())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_holder_keeps_its_lease_whatever_its_clock_says() -> Result<()> {
    let scene = Scene::new("slow-clock").await?;
    create_foreign_lease(&scene, &a_year(-1)?).await?;
    let replica = Replica::electing(&scene, "3s", &[]).await?;
    scene.create_set("set", SMALL).await?;
    // It renews, with times that are a year old.
    holds_for(LEASE_DURATION * 3, "the live holder keeps it", async || {
        renew(&scene, &a_year(-1)?).await?;
        ensure!(scene.lease().await?.0 == STRANGER, "taken from a live holder");
        ensure!(replica.effects_since(Duration::ZERO).is_empty(), "written without the lease");
        tokio::time::sleep(LEASE_DURATION / 10).await;
        Ok(())
    })
    .await?;

    // It dies, and leaves a time in the future.
    let died = Instant::now();
    renew(&scene, &a_year(1)?).await?;
    let took = taken(&scene, &replica, died).await?;
    println!("taken over {took:?} after the last renewal");
    assert!(took >= LEASE_DURATION, "too early: {took:?}");
    assert!(took <= (LEASE_DURATION + Duration::from_secs(1)) * SLACK, "too late: {took:?}");
    scene.annotated("set", SMALL).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_long_ago_does_not_make_a_lease_free() -> Result<()> {
    let scene = Scene::new("old-time").await?;
    create_foreign_lease(&scene, &a_year(-1)?).await?;
    let start = Instant::now();
    let replica = Replica::electing(&scene, "3s", &[]).await?;
    let took = taken(&scene, &replica, start).await?;
    // Whether its holder lives can be seen only by watching for as long as the lease lasts.
    assert!(took >= LEASE_DURATION, "too early: {took:?}");
    Ok(())
}

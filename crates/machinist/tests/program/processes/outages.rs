//! The API server goes away under a running controller, or comes up after it. Directly over TLS, without a proxy.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster;
use machinist_testbed::poll;

use crate::processes::support::process::Process;
use crate::processes::support::time::{PATIENCE, disturbance, holds_for};
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL};

fn outage() -> Duration {
    disturbance(Duration::from_secs(10), Duration::from_secs(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_survived_and_no_change_is_missed() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::on(&control_plane, "outage").await?;
    let kubeconfig = control_plane.kubeconfig_yaml();
    let mut process = Process::start(kubeconfig, &world.namespace, &[]).await?;
    for name in ["changed", "deleted", "kept"] {
        world.create_set(name, SMALL).await?;
        world.annotated(name, SMALL).await?;
    }

    control_plane.stop_api_server().await;
    let stopped = Instant::now();
    poll::eventually(PATIENCE, "trouble in /readyz", || async {
        let (_, details) = process.readyz().await?;
        ensure!(details.contains("its last list or watch failed: "), "{details}");
        Ok(())
    })
    .await?;
    let left = outage().saturating_sub(stopped.elapsed());
    holds_for(left, "alive with its old cache", async || {
        let (code, details) = process.readyz().await?;
        ensure!(code == 200 && details.contains("3 objects"), "{code}: {details}");
        process.ensure_alive()
    })
    .await?;

    control_plane.start_api_server().await?;
    world.change_set("changed", LARGE).await?;
    world.delete_set("deleted").await?;
    world.create_set("created", LARGE).await?;
    for (name, shape) in [("changed", LARGE), ("created", LARGE), ("kept", SMALL)] {
        let took = world.annotated(name, shape).await?;
        println!("{name}: {took:?} after the restart");
    }
    poll::eventually(PATIENCE, "no more trouble", || async {
        let (_, details) = process.readyz().await?;
        ensure!(details.contains("3 objects") && !details.contains("trouble"), "{details}");
        Ok(())
    })
    .await?;
    process.ensure_alive()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_comes_up_later_is_waited_for() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::on(&control_plane, "early").await?;
    world.create_set("set", SMALL).await?;
    control_plane.stop_api_server().await;

    let kubeconfig = control_plane.kubeconfig_yaml();
    let mut process = Process::start(kubeconfig, &world.namespace, &[]).await?;
    holds_for(outage(), "waiting, not ready", async || {
        let (code, details) = process.readyz().await?;
        ensure!(code == 503 && details.contains("[-] API server answers"), "{code}: {details}");
        process.ensure_alive()
    })
    .await?;
    control_plane.start_api_server().await?;
    world.annotated("set", SMALL).await?;
    process.wait_ready().await?;
    process.ensure_alive()
}

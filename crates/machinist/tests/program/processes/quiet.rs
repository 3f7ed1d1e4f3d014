//! What is not sent: nothing at all in a dry run, and nothing but watches once everything is settled.

use std::time::Duration;

use anyhow::{Result, ensure};
use machinist_testbed::faults::{Match, Verb};
use machinist_testbed::poll;

use crate::processes::support::replica::Replica;
use crate::processes::support::time::{PATIENCE, holds_for};
use crate::processes::support::world::{AnnotatorWorld, SMALL, UNKNOWN};

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing_and_logs_its_plans() -> Result<()> {
    let world = AnnotatorWorld::new("dry-run").await?;
    world.create_set("set", SMALL).await?;
    world.create_set("unknown", UNKNOWN).await?;
    let replica = Replica::electing(&world, "3s", &["--dry-run"]).await?;
    replica.process.wait_ready().await?;
    poll::eventually(PATIENCE, "the plans in the log", || async {
        let log = replica.process.log()?;
        let planned = log.contains("machine.openshift.io/vCPU=\"2\"") && log.contains("dry-run");
        ensure!(planned && log.contains("m99.mega"), "{log}");
        Ok(())
    })
    .await?;
    holds_for(Duration::from_secs(2), "no write", async || {
        let writes = replica.proxy.log().matching(&Match::writes());
        ensure!(writes.is_empty(), "{}", writes[0]);
        Ok(())
    })
    .await?;
    assert_eq!(world.vcpus("set").await?, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settled_cluster_costs_no_requests_but_watches() -> Result<()> {
    let world = AnnotatorWorld::new("settled").await?;
    let replica = Replica::start(&world, &[]).await?;
    let names: Vec<_> = (0..10).map(|n| format!("set-{n}")).collect();
    for name in &names {
        world.create_set(name, SMALL).await?;
    }
    world.create_set("unknown", UNKNOWN).await?;
    for name in &names {
        world.annotated(name, SMALL).await?;
    }
    // One about each: they come after the annotations.
    let events = Match::writes().resource("events");
    poll::eventually(PATIENCE, "the Events", || async {
        let written = replica.proxy.log().matching(&events);
        let done = written.iter().filter(|entry| entry.status == Some(201)).count();
        ensure!(done == names.len() + 1, "{}", replica.proxy.log());
        Ok(())
    })
    .await?;
    let requests = || {
        let mut entries = replica.proxy.log().entries();
        entries.retain(|entry| entry.request.verb != Verb::Watch);
        entries.len()
    };
    let settled = requests();
    holds_for(Duration::from_secs(5), "silence", async || {
        ensure!(requests() == settled, "{}", replica.proxy.log());
        Ok(())
    })
    .await?;
    assert_eq!(replica.patches().len(), names.len(), "one write each");
    replica.ensure_user_agents()
}

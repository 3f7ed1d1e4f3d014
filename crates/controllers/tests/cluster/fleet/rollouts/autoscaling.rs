//! A MachineDeployment that is scaled through its subresource, as cluster-autoscaler does.

use anyhow::Result;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use machinist_testbed::world::{Extremes, Observer};
use serde_json::json;

use super::{WEB, create, edit, until_complete, until_made};
use crate::fleet::fixture::Fleet;

async fn scale(fleet: &Fleet, replicas: usize) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    fleet.deployments().patch_scale(WEB, &PatchParams::default(), &patch).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_up_and_down_during_a_roll_keeps_within_the_limits() -> Result<()> {
    let fleet = Fleet::with_deployments("autoscaled").await?;
    let process = fleet.run()?;
    create(&fleet, 6, json!({"strategy": {"rollingUpdate": {"maxSurge": 2}}})).await?;
    let before = until_complete(&fleet, 6).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    until_made(&fleet, "sim.medium", 1).await?;
    // More replicas come from the new template.
    scale(&fleet, 9).await?;
    until_made(&fleet, "sim.medium", 5).await?;
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(most <= 9 + 2 && fewest_ready >= 6, "{most} {fewest_ready}");
    let observer = Observer::start(&fleet).await?;
    scale(&fleet, 4).await?;
    let after = until_complete(&fleet, 4).await?;
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(most <= 9 + 2 && fewest_ready >= 4, "{most} {fewest_ready}");
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    let created = fleet.cloud().created();
    assert!(created <= 6 + 9, "{created} instances");
    process.kill().await
}

/// cluster-autoscaler marks the Machines of the Nodes that it removes, and scales afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_marked_machines_are_deleted() -> Result<()> {
    let fleet = Fleet::with_deployments("marked").await?;
    let process = fleet.run()?;
    create(&fleet, 5, json!({})).await?;
    let before = until_complete(&fleet, 5).await?;
    let marked: Vec<_> = before.iter().step_by(3).cloned().collect();
    for machine in &marked {
        let mark = json!({"machine.openshift.io/delete-machine": "2026-01-02T03:04:05Z"});
        fleet.patch_machine(machine, json!({"metadata": {"annotations": mark}})).await?;
    }
    scale(&fleet, 3).await?;
    let after = until_complete(&fleet, 3).await?;
    assert_eq!(before.difference(&after).cloned().collect::<Vec<_>>(), marked);
    let machines = fleet.all_machines().await?;
    assert!(machines.iter().all(|one| before.contains(&one.name_any())));
    process.kill().await
}

//! A MachineDeployment is deleted in the middle of a rolling update, with Kubernetes' garbage collector.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::json;

use super::node_marks::until_unmarked;
use super::{WEB, create, edit, types_of, until_complete, until_made};
use crate::definitions::Served;
use crate::drain;
use crate::fleet::fixture::Fleet;
use crate::process::Process;

const SIZE: usize = 4;

/// A rolling update in the middle.
async fn rolling(test: &str) -> Result<(Fleet, Process)> {
    let fleet = Fleet::on(drain::control_plane().await, test, Served::Ours).await?;
    let fleet = fleet.and_deployments();
    let process = fleet.run()?;
    create(&fleet, SIZE, json!({})).await?;
    until_complete(&fleet, SIZE).await?;
    edit(&fleet, "sim.medium").await?;
    until_made(&fleet, "sim.medium", 1).await?;
    Ok((fleet, process))
}

async fn delete(fleet: &Fleet, policy: PropagationPolicy) -> Result<()> {
    let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
    fleet.deployments().delete(WEB, &params).await?;
    Ok(())
}

async fn until_nothing_is_left(fleet: &Fleet) -> Result<()> {
    let check = || async {
        let web = fleet.deployments().get_opt(WEB).await?;
        let sets = fleet.sets().list(&ListParams::default()).await?.items.len();
        let machines = fleet.all_machines().await?.len();
        let live = fleet.cloud().live();
        ensure!(
            web.is_none() && sets + machines + live == 0,
            "{sets} MachineSets, {machines} Machines, {live} instances, web: {}",
            web.is_some()
        );
        Ok(())
    };
    fleet.eventually("all Machines and instances to be gone", check).await?;
    let created = fleet.cloud().created();
    ensure!(created <= 2 * SIZE, "{created} instances");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_in_the_background_leaves_nothing() -> Result<()> {
    let (fleet, process) = rolling("background").await?;
    delete(&fleet, PropagationPolicy::Background).await?;
    until_nothing_is_left(&fleet).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_in_the_foreground_ends_after_the_last_machine() -> Result<()> {
    let (fleet, process) = rolling("foreground").await?;
    let made = fleet.cloud().created();
    delete(&fleet, PropagationPolicy::Foreground).await?;
    let gone = || async {
        let machines = fleet.all_machines().await?;
        ensure!(fleet.deployments().get_opt(WEB).await?.is_none(), "{} Machines", machines.len());
        Ok(fleet.all_machines().await?.len())
    };
    let left = fleet.eventually("the deployment to be gone", gone).await?;
    assert_eq!(left, 0, "Machines outlive the deployment");
    until_nothing_is_left(&fleet).await?;
    // A creation may have been under way.
    let created = fleet.cloud().created();
    assert!(created <= made + 1, "{created} instead of {made}: the roll went on");
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_are_removed_from_nodes_whose_deployment_was_deleted_while_no_process_ran()
-> Result<()> {
    let (fleet, process) = rolling("no-owner").await?;
    process.kill().await?;
    let nodes = fleet.own_nodes().await?;
    assert!(nodes.iter().any(|node| node.annotations().contains_key("machinist.dev/rollout")));
    delete(&fleet, PropagationPolicy::Orphan).await?;
    let check = || async {
        ensure!(fleet.deployments().get_opt(WEB).await?.is_none(), "it is there");
        Ok(())
    };
    fleet.eventually("the deployment to be gone", check).await?;
    let process = fleet.run()?;
    until_unmarked(&fleet).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphaning_deletion_stops_the_roll_and_a_new_deployment_goes_on() -> Result<()> {
    let (fleet, process) = rolling("orphan").await?;
    delete(&fleet, PropagationPolicy::Orphan).await?;
    let check = || async {
        let web = fleet.deployments().get_opt(WEB).await?;
        let sets = fleet.sets().list(&ListParams::default()).await?.items;
        let owned = sets.iter().filter(|set| !set.owner_references().is_empty()).count();
        ensure!(web.is_none() && owned == 0, "{owned} of {} sets", sets.len());
        Ok(sets)
    };
    let sets = fleet.eventually("the MachineSets to be released", check).await?;
    assert_eq!(sets.len(), 2);
    // The MachineSets go on alone.
    let sizes = |set: &kube::api::DynamicObject| set.data["spec"]["replicas"].as_u64();
    let wanted: u64 = sets.iter().filter_map(sizes).sum();
    let kept: BTreeSet<_> = fleet
        .eventually("the MachineSets to have their Machines", || async {
            let machines = fleet.all_machines().await?;
            ensure!(u64::try_from(machines.len())? == wanted, "{} Machines", machines.len());
            Ok(machines.iter().map(ResourceExt::name_any).collect())
        })
        .await?;
    let created = fleet.cloud().created();
    until_unmarked(&fleet).await?;

    create(&fleet, SIZE, json!({})).await?;
    edit(&fleet, "sim.medium").await?;
    let after = until_complete(&fleet, SIZE).await?;
    assert_eq!(types_of(&fleet.all_machines().await?), BTreeSet::from(["sim.medium"]));
    assert!(!after.is_disjoint(&kept), "the new Machines that there were are used");
    let more = fleet.cloud().created() - created;
    assert!(more < SIZE, "{more} more instances");
    assert_eq!(fleet.sets().list(&ListParams::default()).await?.items.len(), 2);
    process.kill().await
}

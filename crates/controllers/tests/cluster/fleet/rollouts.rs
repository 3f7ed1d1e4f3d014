//! MachineDeployments: rolling updates while an observer records every state of the Machines, rollbacks, scaling and
//! pauses in the middle.

mod autoscaling;
mod deletion;
mod guarded;
mod history;
mod hot_fields;
mod in_place;
mod large;
mod node_marks;
mod preserved;
mod refused;
mod released;
mod volumes;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::holds_for;
use machinist_testbed::world::reading::{condition, message};
use machinist_testbed::world::{Extremes, Observer};
use serde_json::{Value, json};

use crate::fleet::fixture::{Fleet, machine_spec};
use crate::fleet::idle::stays_idle;

pub(super) const WEB: &str = "web";

fn template(kind: &str) -> Value {
    let labels = json!({"app": WEB, "machine.openshift.io/cluster-api-cluster": "test"});
    json!({"metadata": {"labels": labels}, "spec": machine_spec(&json!({"instanceType": kind}))})
}

pub(super) async fn create(fleet: &Fleet, replicas: usize, extra: Value) -> Result<()> {
    let mut spec = json!({
        "replicas": replicas,
        "selector": {"matchLabels": {"app": WEB}},
        "template": template("sim.small"),
    });
    spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    fleet.create_machine_deployment(WEB, json!({}), spec).await?;
    Ok(())
}

pub(super) async fn edit(fleet: &Fleet, kind: &str) -> Result<()> {
    fleet.patch_deployment(WEB, json!({"spec": {"template": template(kind)}})).await
}

/// Waits until the rollout of the stored spec is complete; returns the Machines' names.
pub(super) async fn until_complete(fleet: &Fleet, size: usize) -> Result<BTreeSet<String>> {
    let what = format!("{size} Machines of the current template");
    fleet
        .until_deployment(WEB, &what, |web| {
            let status = &web.data["status"];
            let names = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
            status["observedGeneration"].as_i64() == web.metadata.generation
                && names.iter().all(|name| status[*name].as_u64() == u64::try_from(size).ok())
                && condition(web, "Progressing") == "True/NewMachineSetAvailable"
                && condition(web, "Available").starts_with("True")
        })
        .await?;
    fleet
        .eventually("other Machines to be gone", || async {
            let machines = fleet.all_machines().await?;
            ensure!(machines.len() == size, "{} Machines", machines.len());
            Ok(machines.iter().map(ResourceExt::name_any).collect())
        })
        .await
}

pub(super) fn type_of(machine: &DynamicObject) -> Option<&str> {
    machine.data.pointer("/spec/providerSpec/value/instanceType")?.as_str()
}

/// Waits until so many Machines of this type exist.
async fn until_made(fleet: &Fleet, kind: &str, count: usize) -> Result<()> {
    let check = || async {
        let machines = fleet.all_machines().await?;
        let made = machines.iter().filter(|one| type_of(one) == Some(kind)).count();
        ensure!(made >= count, "{made} of {} Machines", machines.len());
        Ok(())
    };
    fleet.eventually(&format!("{count} Machines of type {kind}"), check).await
}

fn types_of(machines: &[DynamicObject]) -> BTreeSet<&str> {
    machines.iter().filter_map(type_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_update_replaces_every_machine_within_its_limits() -> Result<()> {
    let fleet = Fleet::with_deployments("rolling").await?;
    let process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    let moving = fleet.until_deployment(WEB, "the roll to begin", |web| {
        message(web, "Progressing").contains("instanceType: sim.small → sim.medium")
    });
    moving.await?;
    let after = until_complete(&fleet, 3).await?;
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    assert_eq!((most, fewest_ready), (4, 3), "one more at most, never one less");
    assert_eq!(types_of(&fleet.all_machines().await?), BTreeSet::from(["sim.medium"]));
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (6, 3));
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    assert_eq!(sets.len(), 2, "the old one is kept for a rollback");
    stays_idle(&fleet).await?;

    // What needs no new Machine changes those that live.
    let labels = json!({"labels": {"tier": "gold"}});
    let patch = json!({"spec": {"template": {"spec": {"metadata": labels}}}});
    fleet.patch_deployment(WEB, patch).await?;
    fleet
        .eventually("the Nodes have the label", || async {
            let nodes = fleet.own_nodes().await?;
            let gold = nodes.iter().filter(|node| node.labels().contains_key("tier")).count();
            ensure!(gold == 3, "{gold} Nodes");
            Ok(())
        })
        .await?;
    assert_eq!(until_complete(&fleet, 3).await?, after);
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_in_the_middle_keeps_machines_of_the_target() -> Result<()> {
    let fleet = Fleet::with_deployments("rollback").await?;
    let process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    until_made(&fleet, "sim.medium", 1).await?;
    edit(&fleet, "sim.small").await?;
    let after = until_complete(&fleet, 3).await?;
    assert!(before.intersection(&after).count() >= 2, "{before:?} {after:?}");
    assert_eq!(types_of(&fleet.all_machines().await?), BTreeSet::from(["sim.small"]));
    let web = fleet.deployments().get(WEB).await?;
    assert_eq!(web.annotations()["machinedeployment.clusters.x-k8s.io/revision"], "3");
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(most <= 4 && fewest_ready >= 3, "{most} {fewest_ready}");
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_is_scaled_paused_and_edited_in_the_middle() -> Result<()> {
    let fleet = Fleet::with_deployments("edits").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({"strategy": {"rollingUpdate": {"maxUnavailable": 1}}})).await?;
    let before = until_complete(&fleet, 2).await?;
    let observer = Observer::start(&fleet).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"paused": true}})).await?;
    edit(&fleet, "sim.medium").await?;
    let paused = |web: &DynamicObject| {
        let status = &web.data["status"];
        condition(web, "Progressing") == "Unknown/DeploymentPaused"
            && status["observedGeneration"].as_i64() == web.metadata.generation
    };
    fleet.until_deployment(WEB, "the pause", paused).await?;
    holds_for(Duration::from_secs(1), "the Machines stay", || async {
        let machines = fleet.all_machines().await?;
        let names: BTreeSet<_> = machines.iter().map(ResourceExt::name_any).collect();
        ensure!(names == before, "{names:?}");
        Ok(())
    })
    .await?;
    fleet.patch_deployment(WEB, json!({"spec": {"paused": false, "replicas": 4}})).await?;
    until_made(&fleet, "sim.medium", 1).await?;
    // A third template abandons the second.
    edit(&fleet, "sim.large").await?;
    let after = until_complete(&fleet, 4).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    assert_eq!(types_of(&fleet.all_machines().await?), BTreeSet::from(["sim.large"]));
    fleet.kubectl(&["scale", "md", WEB, "--replicas=1"]).await?;
    until_complete(&fleet, 1).await?;
    let Extremes { most, .. } = observer.stop(&fleet).await?;
    assert!(most <= 5, "{most}");
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_with_late_watches_and_dying_processes() -> Result<()> {
    let fleet = Fleet::with_deployments("killed").await?;
    // What the controllers see is 25 s old.
    let watches = Match::any().verbs([Verb::Watch]);
    fleet.proxy.add_rule(Rule::new(watches, Effect::DelayEvents(Duration::from_millis(500))));
    let mut process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    for new in 1..=3 {
        until_made(&fleet, "sim.medium", new).await?;
        process.kill().await?;
        process = fleet.run()?;
    }
    let after = until_complete(&fleet, 3).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert!(most <= 4 && fewest_ready >= 3, "{most} {fewest_ready}");
    assert_eq!(fleet.cloud().live(), 3);
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn new_machines_that_never_work_leave_the_old_ones_alone() -> Result<()> {
    let fleet = Fleet::with_deployments("broken").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({})).await?;
    let before = until_complete(&fleet, 2).await?;
    edit(&fleet, "sim.none").await?;
    let waits = |web: &DynamicObject| {
        message(web, "Progressing").contains("waiting for 1 new Machine to become available")
    };
    fleet.until_deployment(WEB, "the roll stops", waits).await?;
    holds_for(Duration::from_secs(1), "the old Machines stay", || async {
        let machines = fleet.all_machines().await?;
        let names: BTreeSet<_> = machines.iter().map(ResourceExt::name_any).collect();
        ensure!(names.len() == 3 && names.is_superset(&before), "{names:?}");
        Ok(())
    })
    .await?;
    // An overlapping deployment changes nothing.
    let spec = json!({"replicas": 5, "selector": {"matchLabels": {"app": WEB}}, "template": template("sim.small")});
    fleet.create_machine_deployment("other", json!({}), spec).await?;
    let refused = |other: &DynamicObject| {
        condition(other, "Progressing") == "False/InvalidConfiguration"
            && message(other, "Progressing").contains("older MachineDeployment web")
    };
    fleet.until_deployment("other", "the overlap is reported", refused).await?;
    edit(&fleet, "sim.small").await?;
    let after = until_complete(&fleet, 2).await?;
    assert_eq!(before, after);
    process.kill().await
}

//! Guarded rollouts: canaries that are observed, and rollouts that are stopped because new Machines fail.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_FAILED_MACHINES, ANNOTATION_ROLLOUT_ABORTED,
};
use machinist_testbed::poll::holds_for;
use machinist_testbed::world::Observer;
use machinist_testbed::world::reading::{condition, message};
use serde_json::{Value, json};

use super::{WEB, create, edit, type_of, until_complete, until_made};
use crate::fleet::fixture::Fleet;

const BROKEN: &str = "sim.broken";

fn limits(limits: &Value) -> Value {
    json!({"strategy": {"rollingUpdate": limits}})
}

/// The set whose template has this type.
async fn set_of(fleet: &Fleet, kind: &str) -> Result<DynamicObject> {
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let path = "/spec/template/spec/providerSpec/value/instanceType";
    let found = sets.into_iter().find(|set| set.data.pointer(path) == Some(&json!(kind)));
    found.ok_or_else(|| anyhow::anyhow!("no set of {kind}"))
}

async fn count(fleet: &Fleet, kind: &str) -> Result<usize> {
    let machines = fleet.all_machines().await?;
    Ok(machines.iter().filter(|one| type_of(one) == Some(kind)).count())
}

async fn stays(fleet: &Fleet, one: (&str, usize), other: (&str, usize)) -> Result<()> {
    holds_for(Duration::from_secs(1), "the Machines stay", || async {
        let counts = (count(fleet, one.0).await?, count(fleet, other.0).await?);
        ensure!(counts == (one.1, other.1), "{counts:?}");
        Ok(())
    })
    .await
}

fn soaks(web: &DynamicObject) -> bool {
    condition(web, "Progressing") == "True/CanarySoaking"
}

#[tokio::test(flavor = "multi_thread")]
async fn canaries_hold_the_rollout_until_they_have_soaked() -> Result<()> {
    let fleet = Fleet::with_deployments("canary").await?;
    let process = fleet.run()?;
    create(&fleet, 3, limits(&json!({"canary": {"soakSeconds": 4}}))).await?;
    until_complete(&fleet, 3).await?;
    let first = set_of(&fleet, "sim.small").await?;
    assert!(first.annotations().contains_key(ANNOTATION_CANARY_PASSED), "it is complete");
    let observer = Observer::start(&fleet).await?;
    edit(&fleet, "sim.medium").await?;
    fleet.until_deployment(WEB, "the canary soaks", soaks).await?;
    assert_eq!((count(&fleet, "sim.small").await?, count(&fleet, "sim.medium").await?), (3, 1));
    // Nothing else happens in between: the process sleeps until then.
    process.kill().await?;
    let process = fleet.run()?;
    until_complete(&fleet, 3).await?;
    let second = set_of(&fleet, "sim.medium").await?;
    assert!(second.annotations().contains_key(ANNOTATION_CANARY_PASSED));
    let extremes = observer.stop(&fleet).await?;
    assert_eq!((extremes.most, extremes.fewest_ready), (4, 3));

    // An hour: additional replicas are of the old template, and the rollback does not wait.
    let hour = json!({"spec": limits(&json!({"canary": {"soakSeconds": 3600}}))});
    fleet.patch_deployment(WEB, hour).await?;
    edit(&fleet, "sim.large").await?;
    fleet.until_deployment(WEB, "the next canary soaks", soaks).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 5}})).await?;
    until_made(&fleet, "sim.medium", 4).await?;
    stays(&fleet, ("sim.medium", 4), ("sim.large", 1)).await?;
    edit(&fleet, "sim.medium").await?;
    until_complete(&fleet, 5).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn new_machines_that_fail_abort_the_rollout_until_it_is_resumed() -> Result<()> {
    let fleet = Fleet::with_deployments("abort").await?;
    let process = fleet.run()?;
    create(&fleet, 2, limits(&json!({"maxSurge": 2, "abort": {"failedMachines": 1}}))).await?;
    let before = until_complete(&fleet, 2).await?;
    // The provider refuses it.
    let broken = json!({"instanceType": BROKEN, "bootSeconds": "soon"});
    let broken = json!({"spec": {"providerSpec": {"value": broken}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": broken}})).await?;
    let aborted = |web: &DynamicObject| condition(web, "Progressing") == "False/RolloutAborted";
    fleet.until_deployment(WEB, "the rollout is aborted", aborted).await?;
    let web = fleet.deployments().get(WEB).await?;
    let text = message(&web, "Progressing");
    assert!(text.contains("(Failed)") && text.contains("the 2 old Machines stay"), "{text}");
    let set = set_of(&fleet, BROKEN).await?;
    assert!(set.annotations()[ANNOTATION_FAILED_MACHINES].starts_with("v1 "), "{set:?}");
    // Deleting what failed creates nothing.
    let failed = fleet.all_machines().await?;
    let failed = failed.iter().filter(|one| type_of(one) == Some(BROKEN));
    let failed: Vec<_> = failed.map(ResourceExt::name_any).collect();
    for name in &failed {
        fleet.delete_machine(name).await?;
    }
    fleet
        .eventually("the failed Machines to be gone", || async {
            let left = count(&fleet, BROKEN).await?;
            ensure!(left == 0, "{left}");
            Ok(())
        })
        .await?;
    stays(&fleet, ("sim.small", 2), (BROKEN, 0)).await?;
    // More replicas are of the template that works.
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 3}})).await?;
    until_made(&fleet, "sim.small", 3).await?;
    // As `machinist rollout resume` does: it is tried again, and aborted again.
    let patch = json!({"metadata": {"annotations": {ANNOTATION_ROLLOUT_ABORTED: null}}});
    fleet.sets().patch(&set.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
    until_made(&fleet, BROKEN, 1).await?;
    let stored = |set: &DynamicObject| set.annotations().contains_key(ANNOTATION_ROLLOUT_ABORTED);
    fleet.until_set(&set.name_any(), "it is aborted again", stored).await?;
    edit(&fleet, "sim.small").await?;
    let after = until_complete(&fleet, 3).await?;
    assert!(after.is_superset(&before), "{before:?} {after:?}");
    process.kill().await
}

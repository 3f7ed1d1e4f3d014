//! A MachineSet that the selector no longer matches keeps its name, and so that of the set of the same template.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_testbed::world::reading::condition;
use serde_json::json;

use super::{WEB, create, until_complete};
use crate::fleet::fixture::Fleet;

const SIZE: usize = 2;
const HOLD: &str = "machinist.dev/hold";
const ABORTED: &str = "machinist.dev/rollout-aborted";

#[tokio::test(flavor = "multi_thread")]
async fn a_released_set_is_replaced_by_one_with_another_name() -> Result<()> {
    let fleet = Fleet::with_deployments("released").await?;
    let process = fleet.run()?;
    create(&fleet, SIZE, json!({})).await?;
    let before = until_complete(&fleet, SIZE).await?;
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let released = sets.first().context("no MachineSet")?.name_any();
    // A move and an abort that only the deployment could end.
    process.kill().await?;
    let begun = json!({HOLD: "v1 in machine uid other", ABORTED: "v1 2026-06-01T12:00:00Z"});
    let metadata = json!({"labels": {"app": "mine"}, "annotations": begun});
    fleet.patch_set(&released, json!({"metadata": metadata})).await?;
    let process = fleet.run()?;
    let replaced = |web: &kube::api::DynamicObject| {
        let status = &web.data["status"];
        status["collisionCount"] == json!(1)
            && status["availableReplicas"] == json!(SIZE)
            && condition(web, "Progressing") == "True/NewMachineSetAvailable"
    };
    fleet.until_deployment(WEB, "another MachineSet", replaced).await?;
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let owned = |name: &str| {
        let set = sets.iter().find(|set| set.name_any() == name);
        set.is_some_and(|set| !set.owner_references().is_empty())
    };
    assert_eq!((sets.len(), owned(&released)), (2, false));
    // It goes on alone.
    let annotations = fleet.sets().get(&released).await?.annotations().clone();
    assert_eq!(annotations.get(HOLD).map(String::as_str), Some("v1 released"));
    assert!(!annotations.contains_key(ABORTED), "{annotations:?}");
    let after = fleet.alive_machines().await?;
    ensure!(after.len() == 2 * SIZE && before.iter().all(|one| after.contains(one)), "{after:?}");
    process.kill().await
}

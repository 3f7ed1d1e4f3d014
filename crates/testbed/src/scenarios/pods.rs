//! Pods on the Nodes of machines, under a disruption budget. There is no disruption controller here: the scenario
//! itself allows a few evictions at a time, so that some are refused.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::World;

const BUDGET: &str = "budget";
/// How many evictions are allowed at a time.
const AT_A_TIME: u32 = 1;
/// With this, names of pods begin.
pub(super) const ON: &str = "on-";

/// One pod on each Node. It has no grace period, because no kubelet would report its end.
pub(super) async fn occupy(world: &World, nodes: &[String]) -> Result<()> {
    let budget: PodDisruptionBudget = serde_json::from_value(json!({
        "metadata": {"name": BUDGET},
        "spec": {"maxUnavailable": AT_A_TIME, "selector": {"matchLabels": {"app": "web"}}},
    }))?;
    world.api().create(&PostParams::default(), &budget).await?;
    let pods = world.api::<Pod>();
    for node in nodes {
        let name = format!("{ON}{node}");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "i"}],
            },
        }))?;
        pods.create(&PostParams::default(), &pod).await?;
        // A budget does not protect a pod that does not run.
        let runs = json!({"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        }});
        pods.patch_status(&name, &PatchParams::default(), &Patch::Strategic(&runs)).await?;
    }
    Ok(())
}

/// Allows some more evictions, as the disruption controller does when other pods have taken the place of the evicted.
pub(super) async fn allow(world: &World) -> Result<()> {
    let budgets = world.api::<PodDisruptionBudget>();
    let generation = budgets.get(BUDGET).await?.metadata.generation.context("a generation")?;
    let status = json!({"status": {
        "disruptionsAllowed": AT_A_TIME, "observedGeneration": generation, "expectedPods": 4,
        "currentHealthy": 4, "desiredHealthy": 3, "disruptedPods": null,
    }});
    budgets.patch_status(BUDGET, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}

pub(super) async fn names(world: &World) -> Result<Vec<String>> {
    let pods = world.api::<Pod>().list(&ListParams::default()).await?;
    Ok(pods.iter().map(ResourceExt::name_any).collect())
}

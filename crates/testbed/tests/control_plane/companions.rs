//! kube-controller-manager, kube-scheduler and kwok do their jobs. A test binary of its own: its first run builds them
//! where they cannot be downloaded.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use machinist_control_plane::ControlPlane;
use machinist_testbed::companions::Companions;
use serde_json::json;
use tokio::time::Instant;

/// Everything here takes a second or two on an idle machine.
const LIMIT: Duration = Duration::from_secs(90);

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        ensure!(Instant::now() < deadline, "not seen in {LIMIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_whole_cluster_without_machines() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let _companions = Companions::start(&control_plane).await?;
    let client = control_plane.client()?;
    orphans_are_collected(&client).await.context("kube-controller-manager")?;
    a_pod_runs(&client).await.context("kube-scheduler and kwok")
}

async fn orphans_are_collected(client: &Client) -> Result<()> {
    let config_maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let parent: ConfigMap = serde_json::from_value(json!({ "metadata": { "name": "parent" } }))?;
    let parent = config_maps.create(&PostParams::default(), &parent).await?;
    let child = serde_json::from_value(json!({ "metadata": {
        "name": "child",
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "parent",
            "uid": parent.metadata.uid.context("no uid")?,
        }],
    }}))?;
    config_maps.create(&PostParams::default(), &child).await?;
    config_maps.delete("parent", &DeleteParams::background()).await?;
    until("the child is gone", async || {
        Ok(config_maps.get_opt("child").await?.is_none().then_some(()))
    })
    .await
}

async fn a_pod_runs(client: &Client) -> Result<()> {
    let nodes = Api::<Node>::all(client.clone());
    let node = serde_json::from_value(json!({ "metadata": { "name": "played" } }))?;
    nodes.create(&PostParams::default(), &node).await?;
    let pods = Api::<Pod>::namespaced(client.clone(), "default");
    let pod = serde_json::from_value(json!({
        "metadata": { "name": "played" },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    }))?;
    pods.create(&PostParams::default(), &pod).await?;
    let pod = until("the pod runs", async || {
        let pod = pods.get("played").await?;
        let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
        Ok((phase.as_deref() == Some("Running")).then_some(pod))
    })
    .await?;
    assert_eq!(pod.spec.and_then(|spec| spec.node_name).as_deref(), Some("played"));
    Ok(())
}

//! Kubelets on a real API server.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use kube::Api;
use kube::api::ListParams;
use machinist_control_plane::ControlPlane;
use machinist_provider::cloud::Cloud;
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use serde_json::json;

use crate::bed::{Bed, spec};

const PATIENCE: Duration = Duration::from_secs(60);

async fn eventually<T, F>(what: &str, check: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let start = Instant::now();
    loop {
        match check().await {
            Err(error) if start.elapsed() > PATIENCE => return Err(error.context(what.to_owned())),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            value => return value,
        }
    }
}

fn condition(node: &Node) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default().iter().find(|condition| condition.type_ == "Ready")
}

fn ready(node: &Node) -> &str {
    condition(node).map_or("", |ready| ready.status.as_str())
}

#[tokio::test]
async fn kubelet_registers_its_node_and_stops_with_the_instance() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let nodes: Api<Node> = Api::all(control_plane.client()?);
    let bed = Bed::new().await;
    let heartbeat = Some(Duration::from_millis(300));
    let kwok = KubeletOptions { kwok: true, heartbeat, ..KubeletOptions::default() };
    let kubelets = Kubelets::start(&bed.cloud, control_plane.kube_config(), kwok)?;
    let machine = bed.prepared("worker-0", &spec(&json!({ "zone": "b" }))).await;
    let instance = bed.client.create(&machine).await?;

    let node = eventually("the Node", || async { Ok(nodes.get(&instance.id).await?) }).await?;
    assert_eq!(ready(&node), "True");
    let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    assert_eq!(provider_id, Some(&*instance.provider_id));
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let label = |name: &str| labels.get(name).map(String::as_str);
    assert_eq!(label("topology.kubernetes.io/zone"), Some("b"));
    assert_eq!(label("node.kubernetes.io/instance-type"), Some("sim.small"));
    assert_eq!(label("kubernetes.io/arch"), Some("amd64"));
    let annotations = node.metadata.annotations.clone().unwrap_or_default();
    assert_eq!(annotations.get("kwok.x-k8s.io/node").map(String::as_str), Some("fake"));
    let status = node.status.unwrap_or_default();
    let allocatable = status.allocatable.unwrap_or_default();
    assert_eq!(allocatable.get("cpu").map(|cpu| cpu.0.as_str()), Some("2"));
    assert_eq!(status.addresses.unwrap_or_default().len(), 2);

    eventually("a heartbeat", || async {
        let beat = condition(&nodes.get(&instance.id).await?).cloned().unwrap_or_default();
        ensure!(beat.last_heartbeat_time > beat.last_transition_time, "none yet: {beat:?}");
        Ok(())
    })
    .await?;

    bed.delete(&machine).await;
    eventually("silence", || async {
        let node = nodes.get(&instance.id).await?;
        ensure!(ready(&node) == "Unknown", "it is {}", ready(&node));
        let annotations = node.metadata.annotations.unwrap_or_default();
        ensure!(annotations.is_empty(), "kwok still speaks for it");
        Ok(())
    })
    .await?;
    // Nodes of terminated instances are not created again.
    drop(kubelets);
    let options = KubeletOptions::default();
    let _kubelets = Kubelets::start(&bed.cloud, control_plane.kube_config(), options)?;
    many(&bed, &nodes).await
}

/// Some instances end before they register: all that run have a Node, and no Node appears afterwards.
async fn many(bed: &Bed, nodes: &Api<Node>) -> Result<()> {
    const MACHINES: usize = 500;
    let start = Instant::now();
    for number in 0..MACHINES {
        let machine = bed.prepared(&format!("many-{number}"), &spec(&json!({}))).await;
        bed.client.create(&machine).await?;
        if number % 10 == 0 {
            bed.delete(&machine).await;
        }
    }
    let running = bed.cloud.live();
    assert_eq!(running, MACHINES - MACHINES / 10);
    eventually("all Nodes", || async {
        let list = nodes.list(&ListParams::default()).await?;
        let up = list.iter().filter(|node| ready(node) == "True").count();
        ensure!(up == running, "{up} of {running}");
        Ok(())
    })
    .await?;
    println!("{running} Nodes after {:?}", start.elapsed());
    let all = nodes.list(&ListParams::default()).await?.items.len();
    eventually("the same Nodes again", || async {
        let again = nodes.list(&ListParams::default()).await?.items.len();
        ensure!(again == all, "{again} instead of {all}");
        Ok(())
    })
    .await
}

//! A platform without a provider is reported and nothing else happens; `--platform` overrides it.

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster;
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::Fleet;
use crate::processes::support::openshift::definition;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::AnnotatorWorld;

const FLAGS: [&str; 3] =
    ["--controllers=machine,nodelink", "--leader-elect=false", "--time-scale=0.05"];

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_without_a_provider_is_said_and_stops_nothing() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    cluster::install_crds(&control_plane).await?;
    let crd =
        definition("config.openshift.io", "v1", "Infrastructure", "infrastructures", "Cluster");
    control_plane.install_crds(&crd.to_string()).await?;
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "Infrastructure");
    let kind = ApiResource::from_gvk_with_plural(&kind, "infrastructures");
    let infrastructures = Api::all_with(control_plane.client()?, &kind);
    let azure = json!({
        "status": {"infrastructureName": "cluster-x7k2p", "platformStatus": {"type": "Azure"}},
    });
    let azure = DynamicObject::new("cluster", &kind).data(azure);
    infrastructures.create(&PostParams::default(), &azure).await?;

    let fleet = Fleet::start(AnnotatorWorld::on(&control_plane, "platform").await?).await?;
    let mut process = fleet.process(control_plane.kubeconfig_yaml(), &FLAGS).await?;
    process.wait_ready_with("platform Azure has no provider").await?;
    let series = r#"machinist_platform{platform="Azure",provider="none"}"#;
    assert_eq!(process.metric(series).await?, Some(1.0));
    assert!(process.log()?.contains("platform Azure has no provider"));
    fleet.create_sim_machine("m", json!({})).await?;
    poll::eventually(PATIENCE, "the machine to say why", || async {
        let machine = fleet.machines().get("m").await?;
        let conditions = machine.data["status"]["conditions"].as_array().cloned();
        let conditions = conditions.context("no conditions yet")?;
        let messages = conditions.iter().filter_map(|condition| condition["message"].as_str());
        ensure!(
            messages.into_iter().any(|message| message.contains("Platform Azure")),
            "{conditions:?}"
        );
        Ok(())
    })
    .await?;
    assert_eq!(fleet.cloud().created(), 0);
    process.ensure_alive()?;

    // On an external platform the Machines name their provider. No restart is needed.
    let external = Patch::Merge(json!({"status": {"platformStatus": {"type": "External"}}}));
    infrastructures.patch("cluster", &PatchParams::default(), &external).await?;
    fleet.running(1).await?;
    assert_eq!(process.metric(series).await?, None);
    process.terminate().await?;

    let flags = [&FLAGS[..], &["--platform=none"]].concat();
    let process = fleet.process(control_plane.kubeconfig_yaml(), &flags).await?;
    process.wait_ready_with("--platform=none").await
}

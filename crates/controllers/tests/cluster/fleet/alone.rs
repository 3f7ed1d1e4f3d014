//! With no other definition than that of Machines: machines live, and controllers that need more report what they
//! wait for.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use machinist_control_plane::ControlPlane;
use machinist_testbed::openshift::FeatureSet;
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::node_of;
use serde_json::json;

use crate::definitions::Served;
use crate::fleet::fixture::{Fleet, PATIENCE, machine_spec};
use crate::process::Process;

#[tokio::test(flavor = "multi_thread")]
async fn machines_live_without_sets_on_our_definition() -> Result<()> {
    machines_live_without_sets(Served::Ours).await
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_live_without_sets_on_openshifts_definition() -> Result<()> {
    machines_live_without_sets(Served::Stock(FeatureSet::Default)).await
}

async fn until_readyz(process: &Process, line: &str) -> Result<()> {
    eventually(PATIENCE, line, || async {
        let (ready, text) = process.readiness();
        ensure!(
            ready && text.lines().any(|found| found.starts_with(line)),
            "ready: {ready}\n{text}"
        );
        Ok(())
    })
    .await
}

async fn machines_live_without_sets(served: Served) -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let fleet = Fleet::on(&control_plane, "alone", served).await?;
    let process = fleet.run()?;
    // There is nothing to reconcile, and the process is healthy.
    for controller in ["machine", "nodelink"] {
        let waits = format!("[!] controller {controller} waits for machines.machine.openshift.io");
        until_readyz(&process, &waits).await?;
    }
    let set_waits = "[!] controller machineset waits for machinesets.machine.openshift.io";
    until_readyz(&process, set_waits).await?;

    control_plane.install_crds(&served.yaml(&["machines"]).await?).await?;
    until_readyz(&process, "[+] controller machine runs").await?;
    until_readyz(&process, "[+] controller nodelink runs").await?;
    until_readyz(&process, set_waits).await?;
    fleet.create_bare_machine("bare", machine_spec(&json!({}))).await?;
    let machine = fleet.until_phase("bare", "Running").await?;
    let node = fleet.nodes().get(node_of(&machine)).await?;
    assert_eq!(node.uid().as_deref(), machine.data["status"]["nodeRef"]["uid"].as_str());
    fleet.delete_machine("bare").await?;
    fleet.until_gone("bare").await?;
    assert_eq!((fleet.cloud().live(), fleet.cloud().volumes()), (0, 0));
    assert!(fleet.own_nodes().await?.is_empty());
    until_readyz(&process, set_waits).await?;

    // It is created, and nothing has to be restarted.
    control_plane.install_crds(&served.yaml(&["machinesets"]).await?).await?;
    until_readyz(&process, "[+] controller machineset runs").await?;
    fleet.create_workers(1, json!({})).await?;
    fleet.until_settled(1).await?;
    process.kill().await
}

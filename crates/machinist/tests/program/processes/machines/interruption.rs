//! A spot instance is interrupted: from EC2's notice, over the condition that the termination handler sets on its Node
//! and the health check of `deploy/health-checks`, to a new Machine.

use std::path::Path;

use anyhow::Result;
use machinist_api::names::{LABEL_CLUSTER, LABEL_INTERRUPTIBLE, LABEL_MACHINE_SET};
use machinist_testbed::imds::Imds;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::process::Launch;
use serde_json::json;

use super::fleet::{Fleet, machine_spec};
use super::rights::SOONER;
use crate::processes::support::world::{AnnotatorWorld, control_plane};

const SET: &str = "spot";
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/interruption");

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_machine_is_replaced_and_no_other() -> Result<()> {
    let control_plane = control_plane().await?;
    let fleet = Fleet::start(AnnotatorWorld::new("interruption").await?).await?;
    let flags = ["--controllers=machine,machineset,nodelink,healthcheck", "--leader-elect=false"];
    let kubeconfig = control_plane.kubeconfig_yaml();
    let mut process = fleet.process(kubeconfig, &[&flags[..], &SOONER].concat()).await?;
    let labels = json!({LABEL_MACHINE_SET: SET, LABEL_CLUSTER: "c", LABEL_INTERRUPTIBLE: ""});
    let spec = json!({
        "replicas": 2,
        "authoritativeAPI": "MachineAPI",
        "selector": {"matchLabels": {LABEL_MACHINE_SET: SET}},
        "template": {"metadata": {"labels": labels}, "spec": machine_spec(&json!({}))},
    });
    fleet.create_machine_set(SET, json!({}), spec).await?;
    let before = fleet.running(2).await?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/health-checks");
    let folder = folder.to_string_lossy();
    kubectl(control_plane, &["apply", "-n", &fleet.namespace, "-k", &folder], None).await?;
    let counted = |check: &kube::api::DynamicObject| check.data["status"]["currentHealthy"] == 2;
    fleet.until_health_check("machine-api-termination-handler", "both count", counted).await?;

    let (interrupted, node) = &before[0];
    let imds = Imds::start().await?;
    let mut handler = Launch::new(env!("CARGO_BIN_EXE_machinist"), LOGS, "handler")?;
    handler.kubeconfig(kubeconfig)?;
    let endpoint = imds.endpoint();
    let arguments = ["termination-handler", "--imds-endpoint", &endpoint, "--poll-interval=100ms"];
    handler.command.args(arguments).env("NODE_NAME", node);
    let handler = handler.start()?;
    imds.announce("terminate", "2026-09-18T08:22:00Z");

    fleet.until_gone(interrupted).await?;
    let text = fleet.until_event(interrupted, "MachineDeleted").await?;
    assert!(text.contains("Node condition Terminating=True for 0s"), "{text}");
    let after = fleet.running(2).await?;
    assert!(after.contains(&before[1]) && !after.contains(&before[0]), "{after:?}");
    handler.until_logged("nothing more to do").await?;
    process.terminate().await?;
    Ok(())
}

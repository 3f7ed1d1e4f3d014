//! As many machines as are wanted, with nodes and instances: through `kubectl scale`, after a deletion, and when one
//! dies.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use machinist_testbed::kubectl;
use serde_json::json;

use crate::definitions::control_plane;
use crate::fleet::fixture::{Fleet, PATIENCE, SET, node_of};
use crate::fleet::idle::stays_idle;
use crate::fleet::reading::{condition, number, phase};

on_both_definitions! {
    crate::fleet::fixture::Fleet::new =>
    kubectl_scales_up_and_down,
    a_machine_that_is_deleted_is_replaced_by_exactly_one,
    an_instance_that_dies_is_reported_and_not_replaced,
}

async fn kubectl(fleet: &Fleet, arguments: &[&str]) -> Result<()> {
    let mut command = kubectl::command(control_plane(fleet.served).await).await?;
    let output = command.arg("-n").arg(fleet.namespace()).args(arguments).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

async fn kubectl_scales_up_and_down(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_set(0, json!({})).await?;
    let set = format!("machinesets.machine.openshift.io/{SET}");
    for size in [3_usize, 5, 1] {
        let replicas = format!("--replicas={size}");
        kubectl(&fleet, &["scale", &set, &replicas]).await?;
        let machines = fleet.until_settled(size).await?;
        let mut nodes: Vec<_> = machines.iter().map(node_of).collect();
        nodes.dedup();
        assert_eq!(nodes.len(), size, "{nodes:?}");
    }
    assert_eq!(fleet.cloud().created(), 5, "five machines at most, five instances");
    fleet.scale(0).await?;
    fleet.until_settled(0).await?;
    process.kill().await
}

async fn a_machine_that_is_deleted_is_replaced_by_exactly_one(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_set(3, json!({})).await?;
    let before = fleet.until_settled(3).await?;
    let victim = before[1].name_any();
    fleet.delete(&victim).await?;
    fleet.until_gone(&victim).await?;
    let after = fleet.until_settled(3).await?;
    let names = |machines: &[kube::api::DynamicObject]| -> Vec<String> {
        machines.iter().map(ResourceExt::name_any).collect()
    };
    let (before, after) = (names(&before), names(&after));
    let new = after.iter().filter(|name| !before.contains(name)).count();
    assert_eq!(new, 1, "{before:?} became {after:?}");
    assert!(!after.contains(&victim));
    stays_idle(&fleet).await?;
    assert_eq!(fleet.cloud().created(), 4, "one more instance than before");
    process.kill().await
}

async fn an_instance_that_dies_is_reported_and_not_replaced(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_set(3, json!({})).await?;
    let machines = fleet.until_settled(3).await?;
    let victim = machines[0].name_any();
    assert!(fleet.cloud().kill(node_of(&machines[0])));
    let failed = fleet.until(&victim, "Failed", |machine| phase(machine) == "Failed").await?;
    let status = &failed.data["status"];
    // OpenShift has no errorReason for this; the reason is in the conditions and in words.
    let text = status["errorMessage"].as_str().unwrap_or_default();
    assert!(text.contains("the host failed"), "{status}");
    assert_eq!(condition(&failed, "Ready"), "False/Failed");
    assert_eq!(condition(&failed, "InstanceExists"), "False/InstanceMissing");
    let counts =
        |status: &serde_json::Value| ["replicas", "readyReplicas"].map(|name| number(status, name));
    fleet.until_set("one of three is not ready", |status| counts(status) == [3, 2]).await?;
    let told = machinist_testbed::poll::eventually(PATIENCE, "an Event", || async {
        let events = fleet.events().await?;
        let found = events.iter().any(|(about, reason, kind)| {
            *about == victim && reason == "Failed" && kind == "Warning"
        });
        ensure!(found, "{events:?}");
        Ok(())
    });
    told.await?;
    // A definition without failureReason drops it at every write; it must not be written for ever.
    stays_idle(&fleet).await?;
    assert_eq!((fleet.cloud().created(), fleet.all().await?.len()), (3, 3));

    // A deletion leads to a replacement.
    fleet.delete(&victim).await?;
    fleet.until_gone(&victim).await?;
    fleet.until_settled(3).await?;
    assert_eq!(fleet.cloud().created(), 4);
    process.kill().await
}

//! As many machines as are wanted, with nodes and instances: through `kubectl scale`, after a deletion, and when one
//! dies.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::DynamicObject;
use machinist_testbed::world::reading::{condition, node_of};
use serde_json::json;

use crate::fleet::fixture::{Fleet, SET};
use crate::fleet::idle::stays_idle;

on_both_definitions! {
    crate::fleet::fixture::Fleet::new =>
    kubectl_scales_up_and_down,
    a_machine_that_is_deleted_is_replaced_by_exactly_one,
    an_instance_that_dies_is_reported_and_not_replaced,
}

async fn kubectl_scales_up_and_down(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_workers(0, json!({})).await?;
    let set = format!("machinesets.machine.openshift.io/{SET}");
    for size in [3_usize, 5, 1] {
        let replicas = format!("--replicas={size}");
        fleet.kubectl(&["scale", &set, &replicas]).await?;
        let machines = fleet.until_settled(size).await?;
        let mut nodes: Vec<_> = machines.iter().map(node_of).collect();
        nodes.dedup();
        assert_eq!(nodes.len(), size, "{nodes:?}");
    }
    assert_eq!(fleet.cloud().created(), 5, "five machines at most, five instances");
    fleet.scale_workers(0).await?;
    fleet.until_settled(0).await?;
    process.kill().await
}

async fn a_machine_that_is_deleted_is_replaced_by_exactly_one(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_workers(3, json!({})).await?;
    let before = fleet.until_settled(3).await?;
    let victim = before[1].name_any();
    fleet.delete_machine(&victim).await?;
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
    fleet.create_workers(3, json!({})).await?;
    let machines = fleet.until_settled(3).await?;
    let victim = machines[0].name_any();
    assert!(fleet.cloud().kill(node_of(&machines[0])));
    let failed = fleet.until_phase(&victim, "Failed").await?;
    let status = &failed.data["status"];
    // OpenShift has no errorReason for this; the reason is in the conditions and in words.
    let text = status["errorMessage"].as_str().unwrap_or_default();
    assert!(text.contains("the host failed"), "{status}");
    assert_eq!(condition(&failed, "Ready"), "False/Failed");
    assert_eq!(condition(&failed, "InstanceExists"), "False/InstanceMissing");
    let counts = |set: &DynamicObject| {
        ["replicas", "readyReplicas"].map(|name| set.data["status"][name].as_i64())
    };
    let two = |set: &_| counts(set) == [Some(3), Some(2)];
    fleet.until_set(SET, "one of three is not ready", two).await?;
    let reported = fleet.eventually("an Event", || async {
        let events = fleet.events().await?;
        let found = events.iter().any(|event| {
            event.about == victim && event.reason == "Failed" && event.kind == "Warning"
        });
        ensure!(found, "{events:?}");
        Ok(())
    });
    reported.await?;
    // A definition without failureReason drops it at every write; it must not be written for ever.
    stays_idle(&fleet).await?;
    assert_eq!((fleet.cloud().created(), fleet.all_machines().await?.len()), (3, 3));

    // A deletion leads to a replacement.
    fleet.delete_machine(&victim).await?;
    fleet.until_gone(&victim).await?;
    fleet.until_settled(3).await?;
    assert_eq!(fleet.cloud().created(), 4);
    process.kill().await
}

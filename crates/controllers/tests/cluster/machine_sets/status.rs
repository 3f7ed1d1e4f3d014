//! The status of a MachineSet, and how often it is written.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use machinist_runtime::clock::{Clock as _, SystemClock};
use machinist_testbed::faults::{Match, Verb};
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::condition;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::machine_sets::world::PATIENCE;

on_both_definitions! {
    crate::machine_sets::world::start =>
    kubectl_scales_a_set_and_sees_its_selector,
    machines_are_ready_with_their_own_node_and_available_after_a_while,
    a_settled_set_is_not_written_and_a_busy_one_seldom,
    the_status_of_a_set_that_has_gone_is_written_once,
}

/// A Node that became ready now, and a machine that has it.
pub(crate) async fn make_ready(world: &Fixture, machine: &str) -> Result<Node> {
    let nodes = Api::<Node>::all(world.client.clone());
    let name = format!("{}-{machine}", world.namespace);
    let node: Node = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    let node = nodes.create(&PostParams::default(), &node).await?;
    let reference = json!({"nodeRef": {"kind": "Node", "name": name, "uid": node.uid()}});
    world.patch_machine_status(machine, reference).await?;
    set_ready(&nodes, &name, "True").await?;
    Ok(node)
}

async fn set_ready(nodes: &Api<Node>, name: &str, ready: &str) -> Result<()> {
    let now = SystemClock.now().round(jiff::Unit::Second)?;
    let now = now.to_string();
    let condition = json!({
        "type": "Ready", "status": ready, "lastTransitionTime": now, "lastHeartbeatTime": now,
    });
    let patch = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    nodes.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn counts(status: &Value) -> [i64; 4] {
    ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"]
        .map(|name| status[name].as_i64().unwrap_or(-1))
}

async fn kubectl_scales_a_set_and_sees_its_selector(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 1, json!({})).await?;
    world.until_settled("workers").await?;
    world.kubectl(&["scale", "machinesets.machine.openshift.io/workers", "--replicas=4"]).await?;
    world.until_settled("workers").await?;
    world.until_alive(4).await?;
    let scale = world
        .kubectl(&[
            "get",
            "--raw",
            &format!(
                "/apis/machine.openshift.io/v1beta1/namespaces/{}/machinesets/workers/scale",
                world.namespace
            ),
        ])
        .await?;
    let scale: Value = serde_json::from_str(&scale)?;
    assert_eq!(scale["status"], json!({"replicas": 4, "selector": "set=workers"}));
    world.kubectl(&["scale", "machinesets.machine.openshift.io/workers", "--replicas=2"]).await?;
    world.until_alive(2).await?;
    world.until_settled("workers").await?;
    Ok(())
}

async fn machines_are_ready_with_their_own_node_and_available_after_a_while(
    world: Fixture,
) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({"minReadySeconds": 3600})).await?;
    world.until_settled("workers").await?;
    let names = world.until_alive(2).await?;
    let node = make_ready(&world, &names[0]).await?;
    let has_counts =
        |wanted| move |set: &kube::core::DynamicObject| counts(&set.data["status"]) == wanted;
    world.until_set("workers", "one is ready", has_counts([2, 2, 1, 0])).await?;
    // No event marks the end of five seconds.
    world.patch_set("workers", json!({"spec": {"minReadySeconds": 5}})).await?;
    let began = Instant::now();
    world.until_set("workers", "one is available", has_counts([2, 2, 1, 1])).await?;
    println!("available after {:?}", began.elapsed());
    world.patch_set("workers", json!({"spec": {"minReadySeconds": 3600}})).await?;
    let nodes = Api::<Node>::all(world.client.clone());
    set_ready(&nodes, &node.name_any(), "Unknown").await?;
    world.until_set("workers", "none is ready", has_counts([2, 2, 0, 0])).await?;
    // Another Node of the same name is not the machine's.
    nodes.delete(&node.name_any(), &kube::api::DeleteParams::default()).await?;
    let other: Node = serde_json::from_value(json!({"metadata": {"name": node.name_any()}}))?;
    nodes.create(&PostParams::default(), &other).await?;
    set_ready(&nodes, &node.name_any(), "True").await?;
    make_ready(&world, &names[1]).await?;
    world.until_set("workers", "the other one is ready", has_counts([2, 2, 1, 0])).await?;
    Ok(())
}

async fn a_settled_set_is_not_written_and_a_busy_one_seldom(mut world: Fixture) -> Result<()> {
    let gather = Duration::from_millis(200);
    world.setup.machines.machine_debounce = gather;
    let _process = world.run()?;
    let writes = || world.proxy.log().matching(&Match::writes().resource("machinesets")).len();
    let began = Instant::now();
    world.create_sized_set("workers", 60, json!({})).await?;
    world.until_settled("workers").await?;
    let names = world.until_alive(60).await?;
    for name in &names {
        make_ready(&world, name).await?;
    }
    world
        .until_set("workers", "all are ready", |set| set.data["status"]["readyReplicas"] == 60)
        .await?;
    let most = 6 + began.elapsed().as_millis() / gather.as_millis();
    let written = writes();
    println!("{written} writes of the set in {:?}", began.elapsed());
    assert!(u128::try_from(written)? <= most, "{written} writes, {most} expected at most");
    assert!(written < 60, "{written} writes for 60 machines");
    // The resync has come round many times by now; nothing is to be written.
    let all = || world.proxy.log().matching(&Match::writes()).len();
    let before = all();
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(all(), before, "{}", world.proxy.log());
    }
    Ok(())
}

async fn the_status_of_a_set_that_has_gone_is_written_once(world: Fixture) -> Result<()> {
    use machinist_testbed::faults::{Effect, Gate, Rule};
    let _process = world.run()?;
    let status = Match::any().verbs([Verb::Patch]).resource("machinesets").subresource("status");
    let gate = Gate::new();
    world.proxy.add_rule(Rule::new(status.clone(), Effect::Hold(gate.clone())).times(1));
    world.create_sized_set("workers", 1, json!({})).await?;
    gate.reached().await;
    world.delete_set("workers").await?;
    gate.open();
    world.create_sized_set("others", 1, json!({})).await?;
    world.until_settled("others").await?;
    let status = status.name("workers");
    let code = eventually(PATIENCE, "the answer", || async {
        let log = world.proxy.log().matching(&status);
        log.first().and_then(|entry| entry.status).context("none yet")
    })
    .await?;
    assert_eq!(code, 404);
    assert_eq!(world.proxy.log().matching(&status).len(), 1, "{}", world.proxy.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_shows_readiness_reason_node_and_type_of_our_own_kinds() -> Result<()> {
    let world = crate::machine_sets::world::start("kubectl-columns", Served::Ours).await?;
    let _process = world.run()?;
    let machine = json!({"providerSpec": {"value": {"kind": "Any", "instanceType": "m5.large"}}});
    let labels = json!({"labels": {"set": "workers"}});
    let template = json!({"template": {"metadata": labels, "spec": machine}});
    world.create_sized_set("workers", 1, template).await?;
    world.until_settled("workers").await?;
    let name = world.until_alive(1).await?.remove(0);
    let ready = json!({"type": "Ready", "status": "False", "severity": "Warning",
        "reason": "NodeNotReady", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let node = json!({"kind": "Node", "name": "worker-1"});
    let status = json!({"phase": "Running", "conditions": [ready], "nodeRef": node});
    world.patch_machine_status(&name, status).await?;
    let is_blocked = |set: &_| condition(set, "MachinesReady") == "False/NodeNotReady";
    world.until_set("workers", "the reason is on the set", is_blocked).await?;
    for (short, columns, values) in [
        (
            "ma",
            vec!["NAME", "PHASE", "READY", "REASON", "NODE", "TYPE", "ZONE", "AGE"],
            vec![&*name, "Running", "False", "NodeNotReady", "worker-1", "m5.large"],
        ),
        (
            "ms",
            vec!["NAME", "DESIRED", "CURRENT", "READY", "AVAILABLE", "REASON", "TYPE", "AGE"],
            vec!["workers", "1", "1", "0", "0", "NodeNotReady", "m5.large"],
        ),
    ] {
        let table = world.kubectl(&["get", short]).await?;
        let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(lines.next().unwrap_or_default(), columns, "{table}");
        let row = lines.next().unwrap_or_default();
        assert_eq!(row.get(..values.len()), Some(&*values), "{table}");
    }
    Ok(())
}

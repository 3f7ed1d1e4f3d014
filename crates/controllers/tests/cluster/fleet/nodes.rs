//! What comes of the Node of a machine: its labels and taints, another Node under its name, and hooks that hold it.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::{condition, is_alive, message, node_of};
use serde_json::{Value, json};

use crate::fleet::fixture::{Fleet, PATIENCE, SET};
use crate::fleet::idle::stays_idle;

on_both_definitions! {
    crate::fleet::fixture::Fleet::new =>
    labels_and_taints_come_and_go_with_the_machine,
    a_node_of_the_same_name_is_another_node,
    hooks_hold_a_machine_that_is_scaled_away,
}

fn taints(node: &Node) -> Vec<String> {
    let mut taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    // The API server puts these on Nodes that are new.
    taints.retain(|taint| !taint.key.starts_with("node.kubernetes.io/"));
    let mut words: Vec<_> = taints
        .into_iter()
        .map(|taint| format!("{}={}:{}", taint.key, taint.value.unwrap_or_default(), taint.effect))
        .collect();
    words.sort();
    words
}

async fn until_node(
    fleet: &Fleet,
    name: &str,
    what: &str,
    wanted: impl Fn(&Node) -> bool,
) -> Result<Node> {
    eventually(PATIENCE, what, || async {
        let node = fleet.nodes().get(name).await?;
        ensure!(wanted(&node), "{}", serde_json::to_string(&node)?);
        Ok(node)
    })
    .await
}

async fn labels_and_taints_come_and_go_with_the_machine(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    let taint = |key: &str| json!({"key": key, "value": "yes", "effect": "NoSchedule"});
    let extra = json!({
        "metadata": {"labels": {"tier": "gold", "rack": "7"}, "annotations": {"note": "x"}},
        "taints": [taint("dedicated"), taint("gpu")],
    });
    fleet.create_workers(1, extra).await?;
    let machine = fleet.until_settled(1).await?.remove(0);
    let (machine, name) = (machine.name_any(), node_of(&machine).to_owned());
    let node = fleet.nodes().get(&name).await?;
    assert_eq!((&*node.labels()["tier"], &*node.labels()["rack"]), ("gold", "7"));
    assert_eq!(taints(&node), ["dedicated=yes:NoSchedule", "gpu=yes:NoSchedule"]);

    // Another client writes to this Node, too.
    let mut all = json!(node.spec.unwrap().taints);
    all.as_array_mut().unwrap().push(json!({"key": "theirs", "effect": "NoExecute"}));
    let theirs = json!({"metadata": {"labels": {"theirs": "1"}}, "spec": {"taints": all}});
    fleet.nodes().patch(&name, &PatchParams::default(), &Patch::Merge(theirs)).await?;

    let less = json!({
        "spec": {
            "metadata": {"labels": {"tier": null, "rack": "8"}, "annotations": null},
            "taints": [taint("gpu")],
        }
    });
    fleet.patch_machine(&machine, less).await?;
    let left = |node: &Node| {
        let labels = node.labels();
        !labels.contains_key("tier")
            && labels.get("rack").map(String::as_str) == Some("8")
            && !node.annotations().contains_key("note")
            && taints(node) == ["gpu=yes:NoSchedule", "theirs=:NoExecute"]
    };
    let node = until_node(&fleet, &name, "what the machine has left", left).await?;
    assert_eq!(node.labels()["theirs"], "1");
    fleet.patch_machine(&machine, json!({"spec": {"metadata": null, "taints": null}})).await?;
    let bare =
        |node: &Node| !node.labels().contains_key("rack") && taints(node) == ["theirs=:NoExecute"];
    let node = until_node(&fleet, &name, "nothing of the machine's", bare).await?;
    assert_eq!(node.labels()["theirs"], "1");
    stays_idle(&fleet).await?;
    process.kill().await
}

async fn a_node_of_the_same_name_is_another_node(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_workers(2, json!({"metadata": {"labels": {"tier": "gold"}}})).await?;
    let machine = fleet.until_settled(2).await?.remove(0);
    let name = node_of(&machine).to_owned();
    let machine = machine.name_any();
    let old = fleet.nodes().get(&name).await?;

    fleet.nodes().delete(&name, &DeleteParams::default()).await?;
    let missing = |machine: &_| condition(machine, "Ready") == "False/NodeMissing";
    fleet.until_machine(&machine, "it says that the node is missing", missing).await?;
    fleet.until_set(SET, "one is ready", |set| set.data["status"]["readyReplicas"] == 1).await?;

    // The kubelet comes back with a Node of its own.
    let provider_id = old.spec.as_ref().and_then(|spec| spec.provider_id.clone());
    let again: Node = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"providerID": provider_id},
        "status": {"conditions": old.status.unwrap().conditions},
    }))?;
    let again = fleet.nodes().create(&PostParams::default(), &again).await?;
    assert_ne!(again.uid(), old.metadata.uid);
    let follows = |machine: &kube::api::DynamicObject| {
        machine.data["status"]["nodeRef"]["uid"].as_str() == again.metadata.uid.as_deref()
    };
    fleet.until_machine(&machine, "nodeRef follows the uid", follows).await?;
    let labelled = |node: &Node| node.labels().get("tier").is_some_and(|tier| tier == "gold");
    until_node(&fleet, &name, "it has what the machine wants", labelled).await?;
    fleet.until_settled(2).await?;
    assert_eq!(fleet.cloud().created(), 2, "the instance was well all the time");
    stays_idle(&fleet).await?;
    process.kill().await
}

async fn hooks_hold_a_machine_that_is_scaled_away(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    let hook = |name: &str| json!([{"name": name, "owner": "ops"}]);
    let hooks: Value = json!({"preDrain": hook("backup"), "preTerminate": hook("quorum")});
    fleet.create_workers(2, json!({ "lifecycleHooks": hooks })).await?;
    fleet.until_settled(2).await?;
    fleet.scale_workers(1).await?;
    let victim = eventually(PATIENCE, "one is on its way out", || async {
        let all = fleet.all_machines().await?.into_iter();
        let mut going = all.filter(|machine| !is_alive(machine));
        going.next().ok_or_else(|| anyhow::anyhow!("none is"))
    })
    .await?
    .name_any();

    let held = |machine: &_| condition(machine, "Drained") == "False/WaitingForHooks";
    let machine = fleet.until_machine(&victim, "the drain waits", held).await?;
    assert!(message(&machine, "Drained").contains("backup (ops)"));
    let node = fleet.nodes().get(node_of(&machine)).await?;
    assert_ne!(node.spec.unwrap().unschedulable, Some(true), "cordoned before it may be drained");
    stays_idle(&fleet).await?;
    assert_eq!(fleet.cloud().live(), 2);

    fleet.patch_machine(&victim, json!({"spec": {"lifecycleHooks": {"preDrain": null}}})).await?;
    let held = |machine: &_| condition(machine, "Ready") == "False/WaitingForHooks";
    let machine = fleet.until_machine(&victim, "the end waits", held).await?;
    assert!(condition(&machine, "Drained").starts_with("True"));
    assert!(message(&machine, "Ready").contains("quorum (ops)"));
    let node = fleet.nodes().get(node_of(&machine)).await?;
    assert_eq!(node.spec.unwrap().unschedulable, Some(true));
    stays_idle(&fleet).await?;
    assert_eq!(fleet.cloud().live(), 2);

    fleet.patch_machine(&victim, json!({"spec": {"lifecycleHooks": null}})).await?;
    fleet.until_gone(&victim).await?;
    fleet.until_settled(1).await?;
    assert_eq!(fleet.cloud().created(), 2, "what is held is not replaced");
    process.kill().await
}

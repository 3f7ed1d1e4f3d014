//! Everything that the controllers of machines do in the life of a fleet: it grows, shrinks with a drain and with
//! force, takes in a stranger, and meets trouble.

use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use machinist_api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_EXTERNAL_REMEDIATION, ANNOTATION_FORCE_DELETION,
    ANNOTATION_FREEZE, ANNOTATION_HEALTH_TIMEOUT, ANNOTATION_MAX_RETRIES, ANNOTATION_PRESERVE,
    ANNOTATION_REMEDIATION_STRATEGY, ANNOTATION_SCALE_DOWN_DISABLED, CONDITION_FROZEN,
    CONDITION_PRESERVED, CONDITION_REQUEST_AVAILABLE, CONDITION_TEMPLATE_AVAILABLE,
    FINALIZER_MACHINE, LABEL_MACHINE_SET, STRATEGY_EXTERNAL_BAREMETAL, TAINT_PRESERVED,
};
use machinist_testbed::poll;
use machinist_testbed::world::reading::{condition, condition_of};
use serde_json::{Value, json};

use super::fleet::{Fleet, WANTED, set_status};
use crate::processes::support::time::PATIENCE;

/// The set of the fleet.
pub(super) const SET: &str = "workers";

/// A set without machines gets two, each with an instance and a Node.
pub(super) async fn grow(fleet: &Fleet, provider: Value) -> Result<()> {
    fleet.create_sim_set(SET, provider).await?;
    fleet.running(0).await?;
    fleet.scale(SET, 2).await?;
    for (_, node) in fleet.running(2).await? {
        wanted_on(fleet, &node, true).await?;
    }
    Ok(())
}

/// One machine is drained and goes; what was on its Node is treated as it should be.
pub(super) async fn shrink(fleet: &Fleet) -> Result<()> {
    let machines = fleet.running(2).await?;
    let (victim, node) = &machines[0];
    // It changes its mind about what its Node should have.
    let metadata = json!({"labels": {WANTED: null}, "annotations": {WANTED: null}});
    let unwanted = json!({"spec": {"metadata": metadata, "taints": []}});
    fleet.patch_machine(victim, unwanted).await?;
    wanted_on(fleet, node, false).await?;

    let pods = fleet.api::<Pod>();
    pods.create(&PostParams::default(), &pod("web", node, 0)?).await?;
    leave_an_agent(fleet, node).await?;
    fleet.patch_machine(victim, annotated(ANNOTATION_DELETE_MACHINE)).await?;
    fleet.scale(SET, 1).await?;
    let left = fleet.running(1).await?;
    ensure!(left == machines[1..], "{left:?} is left of {machines:?}");
    ensure!(pods.get_opt("web").await?.is_none(), "the pod was not evicted");
    ensure!(pods.get_opt("agent").await?.is_some(), "the DaemonSet's pod was touched");
    ensure!(fleet.nodes().get_opt(node).await?.is_none(), "the Node is still there");
    Ok(())
}

/// The set is frozen for a while, which only its status shows.
pub(super) async fn freeze(fleet: &Fleet) -> Result<()> {
    for (text, expected) in [(json!("maintenance"), "True/Requested"), (Value::Null, "")] {
        let annotations = json!({ANNOTATION_FREEZE: text});
        fleet.patch_set(SET, json!({"metadata": {"annotations": annotations}})).await?;
        let shown = |set: &kube::api::DynamicObject| condition(set, CONDITION_FROZEN) == expected;
        fleet.until_set(SET, "the freeze to be shown", shown).await?;
    }
    Ok(())
}

/// The kubelet of the last machine reports that it is not ready: a health check replaces it.
pub(super) async fn remediate(fleet: &Fleet) -> Result<()> {
    let machines = fleet.running(1).await?;
    let (machine, node) = &machines[0];
    let spec = json!({
        "selector": {},
        "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "1s"}],
    });
    let limits = json!({"annotations": {ANNOTATION_MAX_RETRIES: "3"}});
    fleet.create_health_check("check", limits, spec).await?;
    report_ready(fleet, node, false).await?;
    fleet.until_gone(machine).await?;
    fleet.running(1).await?;
    let counted = |check: &kube::api::DynamicObject| check.data["status"]["currentHealthy"] == 1;
    fleet.until_health_check("check", "the new one is healthy", counted).await?;
    for (text, expected) in [(json!("maintenance"), "True/Requested"), (Value::Null, "")] {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {ANNOTATION_FREEZE: text}}}));
        fleet.health_checks().patch("check", &PatchParams::default(), &patch).await?;
        let shown =
            |check: &kube::api::DynamicObject| condition(check, CONDITION_FROZEN) == expected;
        fleet.until_health_check("check", "the freeze to be shown", shown).await?;
    }
    remediate_elsewhere(fleet).await?;
    // What fails from now on stays.
    fleet.health_checks().delete("check", &DeleteParams::default()).await?;
    Ok(())
}

/// The last machine is left to Metal3, which repairs it; then the health check wants a kind that is not served.
async fn remediate_elsewhere(fleet: &Fleet) -> Result<()> {
    let change = async |patch: Value| {
        let patch = Patch::Merge(patch);
        fleet.health_checks().patch("check", &PatchParams::default(), &patch).await
    };
    let strategy = json!({ANNOTATION_REMEDIATION_STRATEGY: STRATEGY_EXTERNAL_BAREMETAL});
    change(json!({"metadata": {"annotations": strategy}})).await?;
    let machines = fleet.running(1).await?;
    let (machine, node) = &machines[0];
    report_ready(fleet, node, false).await?;
    let annotated = |one: &kube::api::DynamicObject| {
        one.annotations().contains_key(ANNOTATION_EXTERNAL_REMEDIATION)
    };
    fleet.until_machine(machine, "it to be left to Metal3", annotated).await?;
    report_ready(fleet, node, true).await?;
    let repaired = json!({"metadata": {"annotations": {ANNOTATION_EXTERNAL_REMEDIATION: null}}});
    fleet.patch_machine(machine, repaired).await?;

    let template = json!({"apiVersion": "fix.example.dev/v1", "kind": "FixTemplate", "name": "f"});
    change(json!({"spec": {"remediationTemplate": template}})).await?;
    let shown = |check: &kube::api::DynamicObject| {
        !condition_of(check, CONDITION_TEMPLATE_AVAILABLE).is_null()
            && !condition_of(check, CONDITION_REQUEST_AVAILABLE).is_null()
    };
    fleet.until_health_check("check", "what is missing to be shown", shown).await?;
    Ok(())
}

/// The kubelet of the last machine is silent for a while: it is kept for debugging until it reports again.
pub(super) async fn preserve(fleet: &Fleet) -> Result<()> {
    let machines = fleet.running(1).await?;
    let (machine, node) = &machines[0];
    let annotations = json!({ANNOTATION_PRESERVE: "when-failed", ANNOTATION_HEALTH_TIMEOUT: "1s"});
    fleet.patch_machine(machine, json!({"metadata": {"annotations": annotations}})).await?;
    report_ready(fleet, node, false).await?;
    let kept =
        |one: &kube::api::DynamicObject| condition(one, CONDITION_PRESERVED) == "True/Succeeded";
    fleet.until_machine(machine, "it to be kept and drained", kept).await?;
    let tainted = fleet.nodes().get(node).await?.spec.and_then(|spec| spec.taints);
    let tainted = tainted.into_iter().flatten().any(|taint| taint.key == TAINT_PRESERVED);
    ensure!(tainted, "the Node has no taint");

    report_ready(fleet, node, true).await?;
    let ended = |one: &kube::api::DynamicObject| condition_of(one, CONDITION_PRESERVED).is_null();
    fleet.until_machine(machine, "it to be kept no longer", ended).await?;
    poll::eventually(PATIENCE, "the Node to have nothing of it", || async {
        let node = fleet.nodes().get(node).await?;
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let tainted = taints.into_iter().flatten().any(|taint| taint.key == TAINT_PRESERVED);
        let held = node.annotations().contains_key(ANNOTATION_SCALE_DOWN_DISABLED);
        ensure!(!tainted && !held, "taint: {tainted}, annotation: {held}");
        Ok(())
    })
    .await
}

async fn report_ready(fleet: &Fleet, node: &str, ready: bool) -> Result<()> {
    let status = if ready { "True" } else { "False" };
    // The time of a kubelet has whole seconds.
    let now = jiff::Timestamp::now().round(jiff::Unit::Second)?;
    let condition =
        json!({"type": "Ready", "status": status, "lastTransitionTime": now.to_string()});
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    fleet.nodes().patch_status(node, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// The last machine goes at once, whatever is on it.
pub(super) async fn vanish(fleet: &Fleet) -> Result<()> {
    let machines = fleet.running(1).await?;
    let (victim, node) = &machines[0];
    let pods = fleet.api::<Pod>();
    pods.create(&PostParams::default(), &pod("stubborn", node, 3600)?).await?;
    fleet.patch_machine(victim, annotated(ANNOTATION_FORCE_DELETION)).await?;
    fleet.scale(SET, 0).await?;
    fleet.running(0).await?;
    ensure!(pods.get_opt("stubborn").await?.is_none(), "the pod is still there");
    ensure!(fleet.cloud().volumes() == 0, "volumes are left in the cloud");
    Ok(())
}

/// A machine that a user made gets a finalizer and a Node, then a set that has no use for it.
pub(super) async fn adopt(fleet: &Fleet) -> Result<()> {
    fleet.create_sim_machine("stranger", json!({})).await?;
    fleet.running(1).await?;
    let stranger = fleet.machines().get("stranger").await?;
    ensure!(stranger.finalizers() == [FINALIZER_MACHINE], "{:?}", stranger.finalizers());

    // A second Node has the provider ID of the same instance.
    let twin: Node = serde_json::from_value(json!({
        "metadata": {"name": "twin"},
        "spec": {"providerID": stranger.data["spec"]["providerID"]},
    }))?;
    fleet.nodes().create(&PostParams::default(), &twin).await?;
    let events = Api::<Event>::all(fleet.client.clone());
    poll::eventually(PATIENCE, "an Event about the second Node", || async {
        let listed = events.list(&ListParams::default()).await?;
        let found = listed.iter().any(|event| event.reason.as_deref() == Some("NodeNotLinked"));
        ensure!(found, "there is none");
        Ok(())
    })
    .await?;
    fleet.nodes().delete("twin", &DeleteParams::default()).await?;

    let chosen = json!({"metadata": {"labels": {LABEL_MACHINE_SET: SET}}});
    fleet.patch_machine("stranger", chosen).await?;
    fleet.running(0).await?;
    Ok(())
}

/// A Machine and a MachineSet that are invalid. Both report it; the MachineSet is repaired.
pub(super) async fn fail(fleet: &Fleet) -> Result<()> {
    fleet.create_sim_machine("broken", json!({"instanceType": "sim.none"})).await?;
    let failed = |machine: &kube::api::DynamicObject| machine.data["status"]["phase"] == "Failed";
    let machine = fleet.until_machine("broken", "the machine to fail", failed).await?;
    let message = machine.data["status"]["failureMessage"].as_str().unwrap_or_default();
    ensure!(message.contains("sim.none"), "{message}");
    fleet.delete_machine("broken").await?;
    fleet.running(0).await?;

    fleet.create_sim_set("odd", json!({})).await?;
    let relabel = async |label: Value| {
        let labels = json!({"matchLabels": {LABEL_MACHINE_SET: label}});
        let patch = Patch::Merge(json!({"spec": {"selector": labels}}));
        let sets = fleet.sets();
        sets.patch("odd", &PatchParams::default(), &patch).await.map(drop)
    };
    relabel(json!("even")).await?;
    until_error(fleet, true).await?;
    relabel(json!("odd")).await?;
    until_error(fleet, false).await
}

async fn until_error(fleet: &Fleet, expected: bool) -> Result<()> {
    poll::eventually(PATIENCE, "the set's errorMessage to come or go", || async {
        let status = set_status(fleet, "odd").await?;
        ensure!(status["errorMessage"].is_string() == expected, "{status}");
        Ok(())
    })
    .await
}

/// Waits until a Node has what its machine wants there, or has it no more.
async fn wanted_on(fleet: &Fleet, node: &str, expected: bool) -> Result<()> {
    poll::eventually(PATIENCE, "the Node to have what its machine wants", || async {
        let node = fleet.nodes().get(node).await?;
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let tainted = taints.into_iter().flatten().any(|taint| taint.key == WANTED);
        let has =
            [node.labels().contains_key(WANTED), node.annotations().contains_key(WANTED), tainted];
        ensure!(has == [expected; 3], "label, annotation, taint: {has:?}");
        Ok(())
    })
    .await
}

/// A pod of a DaemonSet with a volume of its own: both stay.
async fn leave_an_agent(fleet: &Fleet, node: &str) -> Result<()> {
    let (client, namespace) = (&fleet.client, &fleet.namespace);
    let labels = json!({"app": "agent"});
    let container = json!([{"name": "main", "image": "none"}]);
    let set: DaemonSet = serde_json::from_value(json!({
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": container}},
        },
    }))?;
    let sets = Api::<DaemonSet>::namespaced(client.clone(), namespace);
    let set = sets.create(&PostParams::default(), &set).await?;
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {"name": "kept"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "kept-volume",
        },
    }))?;
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
    claims.create(&PostParams::default(), &claim).await?;
    let attachment: VolumeAttachment = serde_json::from_value(json!({
        "metadata": {"name": "kept"},
        "spec": {
            "attacher": "test.machinist.dev",
            "nodeName": node,
            "source": {"persistentVolumeName": "kept-volume"},
        },
    }))?;
    Api::all(client.clone()).create(&PostParams::default(), &attachment).await?;
    let mut agent = serde_json::to_value(pod("agent", node, 0)?)?;
    agent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "controller": true,
        "name": "agent", "uid": set.uid(),
    }]);
    agent["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "kept"}}]);
    let agent: Pod = serde_json::from_value(agent)?;
    Api::namespaced(client.clone(), namespace).create(&PostParams::default(), &agent).await?;
    Ok(())
}

/// A pod on a Node. No kubelet runs it, so without a grace period it is deleted at once.
fn pod(name: &str, node: &str, grace: u32) -> Result<Pod> {
    Ok(serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": grace,
            "containers": [{"name": "main", "image": "none"}],
        },
    }))?)
}

fn annotated(name: &str) -> Value {
    json!({"metadata": {"annotations": {name: "yes"}}})
}

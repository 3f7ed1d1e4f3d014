//! Machines that are kept for debugging, as a user sees them.

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use machinist_testbed::faults::{ApiRequest, Effect, Match, Rule, Verb};
use machinist_testbed::world::reading::{condition, condition_of, message, node_of, phase};
use serde_json::{Value, json};

use crate::fleet::fixture::{Fleet, PATIENCE, SET};
use crate::fleet::idle::stays_idle;

const PRESERVE: &str = "machinist.dev/preserve";
const UNTIL: &str = "machinist.dev/preserved-until";
const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";

on_both_definitions! {
    crate::fleet::fixture::Fleet::new =>
    a_preserved_machine_survives_a_scale_down_until_its_end,
}

async fn a_preserved_machine_survives_a_scale_down_until_its_end(fleet: Fleet) -> Result<()> {
    let process = fleet.run()?;
    fleet.create_workers(2, json!({})).await?;
    let machines = fleet.until_settled(2).await?;
    let (kept, node) = (machines[0].name_any(), node_of(&machines[0]));
    let request = Patch::Merge(annotation(PRESERVE, &json!("now")));
    fleet.nodes().patch(node, &PatchParams::default(), &request).await?;
    // The set does not wait for the controller of Machines.
    fleet.scale_workers(0).await?;
    fleet.until_gone(&machines[1].name_any()).await?;
    let machine = fleet
        .until_machine(&kept, "it is kept", |one| condition(one, "Preserved") == "True/Requested")
        .await?;
    let until = machine.annotations()[UNTIL].clone();
    assert!(message(&machine, "Preserved").ends_with(&until), "{machine:?}");
    held(&fleet, node, true).await?;
    let preserved = |set: &_| message(set, "MachinesPreserved").contains(&until);
    let set = fleet.until_set(SET, "it names the Machine and the end", preserved).await?;
    assert!(message(&set, "MachinesPreserved").contains("1 more"), "{:?}", set.data["status"]);
    stays_idle(&fleet).await?;

    // Its user is done earlier.
    fleet.patch_machine(&kept, annotation(UNTIL, &json!("2026-01-01T00:00:00Z"))).await?;
    fleet.until_gone(&kept).await?;
    fleet.until_settled(0).await?;
    let ended = |set: &_| condition_of(set, "MachinesPreserved").is_null();
    fleet.until_set(SET, "no Machine is kept", ended).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_withdrawn_leaves_nothing() -> Result<()> {
    let fleet = Fleet::new("withdrawn", crate::definitions::Served::Ours).await?;
    let process = fleet.run()?;
    fleet.create_workers(1, json!({})).await?;
    let machines = fleet.until_settled(1).await?;
    let (name, node) = (machines[0].name_any(), node_of(&machines[0]));
    fleet.patch_machine(&name, annotation(PRESERVE, &json!("now"))).await?;
    let kept = |one: &DynamicObject| condition(one, "Preserved") == "True/Requested";
    fleet.until_machine(&name, "it is kept", kept).await?;
    held(&fleet, node, true).await?;
    withdraw(&fleet, &name, node).await?;
    fleet.until_event(&name, "Preserved").await?;
    fleet.until_event(&name, "PreservationEnded").await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_reported_although_the_beginning_could_not_be() -> Result<()> {
    let fleet = Fleet::new("unreported", crate::definitions::Served::Ours).await?;
    let process = fleet.run()?;
    fleet.create_workers(1, json!({})).await?;
    let machines = fleet.until_settled(1).await?;
    let (name, node) = (machines[0].name_any(), node_of(&machines[0]));
    let reports = |request: &ApiRequest| {
        let body = request.json().unwrap_or_default();
        let mut conditions = body["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| one["type"] == "Preserved")
    };
    let reports = Match::any().verbs([Verb::Patch]).resource("machines").that(reports);
    let conflict = fleet.proxy.add_rule(Rule::new(reports, Effect::answer(409)));
    fleet.patch_machine(&name, annotation(PRESERVE, &json!("now"))).await?;
    conflict.hit(1, PATIENCE).await?;
    withdraw(&fleet, &name, node).await?;
    fleet.until_event(&name, "PreservationEnded").await?;
    process.kill().await
}

/// Until nothing of the preservation is left.
async fn withdraw(fleet: &Fleet, name: &str, node: &str) -> Result<()> {
    fleet.patch_machine(name, annotation(PRESERVE, &Value::Null)).await?;
    held(fleet, node, false).await?;
    let ended = |one: &DynamicObject| {
        condition_of(one, "Preserved").is_null() && !one.annotations().contains_key(UNTIL)
    };
    fleet.until_machine(name, "it is not kept", ended).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_be_written_does_not_hold_up_its_machine() -> Result<()> {
    let fleet = Fleet::new("unwritable-node", crate::definitions::Served::Ours).await?;
    let process = fleet.run()?;
    fleet.create_workers(1, json!({})).await?;
    let machines = fleet.until_settled(1).await?;
    let (name, node) = (machines[0].name_any(), node_of(&machines[0]));
    let is_mark = |request: &ApiRequest| {
        let body = request.json().unwrap_or_default();
        body["metadata"]["annotations"].get(SCALE_DOWN_DISABLED).is_some()
    };
    let marks = Match::any().verbs([Verb::Patch]).resource("nodes").that(is_mark);
    let refusal = fleet.proxy.add_rule(Rule::new(marks, Effect::answer(403)));
    fleet.patch_machine(&name, annotation(PRESERVE, &json!("now"))).await?;
    let noted = |one: &DynamicObject| message(one, "Preserved").contains("cannot mark its Node");
    fleet.until_machine(&name, "the refusal is reported", noted).await?;
    fleet.until_event(&name, "FailedUpdate").await?;
    // What happens to it is seen meanwhile.
    let uid = machines[0].uid().context("a uid")?;
    let instance = fleet.cloud().of_machine(&uid).into_iter().next().context("an instance")?;
    ensure!(fleet.cloud().kill(&instance.id), "it is gone");
    let failed = |one: &DynamicObject| phase(one) == "Failed" && noted(one);
    fleet.until_machine(&name, "it has failed", failed).await?;
    refusal.remove();
    held(&fleet, node, true).await?;
    fleet.until_machine(&name, "nothing is refused any more", |one| !noted(one)).await?;
    process.kill().await
}

fn annotation(name: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {name: value}}})
}

/// Whether cluster-autoscaler leaves the Node alone, and all that is recorded about that.
async fn held(fleet: &Fleet, node: &str, expected: bool) -> Result<()> {
    fleet
        .eventually("the annotation for cluster-autoscaler", || async {
            let node = fleet.nodes().get(node).await?;
            let names = [SCALE_DOWN_DISABLED, "machinist.dev/scale-down-disabled-by"];
            let has = names.map(|name| node.annotations().contains_key(name));
            ensure!(has == [expected; 2], "{has:?}");
            Ok(())
        })
        .await
}

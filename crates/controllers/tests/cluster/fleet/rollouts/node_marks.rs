//! The marks that a rolling update puts on Nodes, for cluster-autoscaler and the scheduler.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use machinist_testbed::faults::{ApiRequest, Effect, LogEntry, Match, Rule, Verb};
use machinist_testbed::world::reading::{message, node_of};
use serde_json::json;

use super::{WEB, create, edit, until_complete};
use crate::fleet::fixture::Fleet;
use crate::fleet::idle::stays_idle;

const ON: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const BY: &str = "machinist.dev/scale-down-disabled-by";
const RECORD: &str = "machinist.dev/rollout";
const TAINT: &str = "machinist.dev/prefer-no-schedule";

/// What of a Node is ours: `+` disables the scale-down, `~` is the taint.
fn marks(node: &Node) -> &'static str {
    let has = |name: &str| node.annotations().contains_key(name);
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let mut taints = taints.into_iter().flatten();
    let tainted = taints.any(|taint| taint.key == TAINT && taint.value.is_none());
    match (has(ON) && has(BY), tainted, has(RECORD)) {
        (true, true, true) => "+~",
        (true, false, true) => "+",
        (false, true, true) => "~",
        (false, false, false) => "",
        _ => "odd",
    }
}

/// Waits until the Nodes of Machines with these names have these marks.
async fn until_marked(fleet: &Fleet, machines: &BTreeSet<String>, wanted: &[&str]) -> Result<()> {
    let check = || async {
        let mut found = Vec::new();
        for machine in fleet.all_machines().await? {
            let node = node_of(&machine);
            if machines.contains(&machine.name_any()) && !node.is_empty() {
                found.push(marks(&fleet.nodes().get(node).await?));
            }
        }
        ensure!(found == wanted, "{found:?}");
        Ok(())
    };
    fleet.eventually(&format!("the marks {wanted:?}"), check).await
}

/// No Node has anything of ours.
pub(super) async fn until_unmarked(fleet: &Fleet) -> Result<()> {
    let check = || async {
        let nodes = fleet.own_nodes().await?;
        let marked: Vec<_> = nodes.iter().map(marks).filter(|marks| !marks.is_empty()).collect();
        ensure!(marked.is_empty(), "{marked:?}");
        Ok(())
    };
    fleet.eventually("Nodes without marks", check).await
}

fn is_mark(request: &ApiRequest) -> bool {
    request.user_agent.starts_with("machinist-machinedeployment")
        && (request.verb, &*request.resource) == (Verb::Patch, "nodes")
}

async fn patch_node(fleet: &Fleet, node: &str, patch: serde_json::Value) -> Result<Node> {
    Ok(fleet.nodes().patch(node, &PatchParams::default(), &Patch::Merge(patch)).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_marked_during_a_roll_and_what_others_set_stays() -> Result<()> {
    let fleet = Fleet::with_deployments("marks").await?;
    let process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    let nodes: Vec<_> =
        fleet.all_machines().await?.iter().map(|one| node_of(one).to_owned()).collect();
    // A user keeps one Node, and has a taint like ours, and one of another kind, on the next one.
    patch_node(&fleet, &nodes[0], json!({"metadata": {"annotations": {ON: "true"}}})).await?;
    let own = json!([
        {"key": TAINT, "value": "mine", "effect": "PreferNoSchedule"}, {"key": "gpu", "effect": "NoSchedule"},
    ]);
    patch_node(&fleet, &nodes[1], json!({"spec": {"taints": own}})).await?;

    // A roll that stops with its first new Machine.
    edit(&fleet, "sim.none").await?;
    until_marked(&fleet, &before, &["~", "+", "+~"]).await?;
    // A pause takes the marks away: nothing is replaced next.
    fleet.patch_deployment(WEB, json!({"spec": {"paused": true}})).await?;
    until_unmarked(&fleet).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"paused": false}})).await?;
    until_marked(&fleet, &before, &["~", "+", "+~"]).await?;
    // Back to Machines that stay.
    edit(&fleet, "sim.small").await?;
    assert_eq!(until_complete(&fleet, 3).await?, before);
    until_unmarked(&fleet).await?;
    let kept = fleet.nodes().get(&nodes[0]).await?;
    assert_eq!(kept.annotations()[ON], "true");
    let tainted = fleet.nodes().get(&nodes[1]).await?;
    assert_eq!(json!(tainted.spec.unwrap().taints), own);

    // Two writes per Node and roll, and none when it is complete.
    // A conflict changes nothing.
    let done = |one: &LogEntry| is_mark(&one.request) && one.status == Some(200);
    let writes = || fleet.proxy.log().entries().iter().filter(|one| done(one)).count();
    let so_far = writes();
    edit(&fleet, "sim.medium").await?;
    let after = until_complete(&fleet, 3).await?;
    until_unmarked(&fleet).await?;
    stays_idle(&fleet).await?;
    let written = writes() - so_far;
    assert!((3..=3 + 2 * 3).contains(&written), "{written} writes");

    // A Machine that leaves its deployment in the middle leaves without marks.
    edit(&fleet, "sim.none").await?;
    until_marked(&fleet, &after, &["+~"; 3]).await?;
    let released = after.first().unwrap();
    fleet.patch_machine(released, json!({"metadata": {"labels": {"app": "none"}}})).await?;
    until_marked(&fleet, &BTreeSet::from([released.clone()]), &[""]).await?;
    let rest = after.iter().skip(1).cloned().collect();
    until_marked(&fleet, &rest, &["+~"; 2]).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_goes_on_without_the_right_to_write_nodes() -> Result<()> {
    let fleet = Fleet::with_deployments("no-marks").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({})).await?;
    let before = until_complete(&fleet, 2).await?;
    let refused = Effect::Answer { code: 403, retry_after: None };
    let rule = fleet.proxy.add_rule(Rule::new(Match::any().that(is_mark), refused));
    edit(&fleet, "sim.medium").await?;
    let said = |web: &DynamicObject| {
        message(web, "Progressing").contains("cannot change marks on Nodes: Node ")
    };
    fleet.until_deployment(WEB, "the reason", said).await?;
    let after = until_complete(&fleet, 2).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    let note = fleet.until_event(WEB, "FailedUpdate").await?;
    assert!(note.contains("set spec.strategy.markNodes to false"), "{note}");
    drop(rule);
    until_unmarked(&fleet).await?;
    process.kill().await
}

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Retry;
use machinist_runtime::cache::kind::Kind as _;
use serde_json::{Value, json};

use super::super::super::plan::{Outcome, Plan, Reason};
use super::super::super::report::report;
use super::super::super::samples::{deployment, member, now, set, snapshot, with_members};
use super::super::super::snapshot::{Missing, NodeTrouble, SetView, Snapshot};
use super::super::decide;
use crate::kinds::{Node, Nodes};

/// As a node with these marks is written in the tests: `+` disables the scale-down, `~` is the taint.
fn node(name: &str, marks: &str) -> Arc<Node> {
    let (held, tainted) = (marks.contains('+'), marks.contains('~'));
    let mut node = json!({"metadata": {"name": name, "annotations": {}}, "spec": {}});
    let annotations = &mut node["metadata"]["annotations"];
    if held {
        annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = json!("true");
        annotations["machinist.dev/scale-down-disabled-by"] = json!("machinedeployment");
    }
    if held || tainted {
        let taint = if tainted { " prefer-no-schedule" } else { "" };
        annotations["machinist.dev/rollout"] = json!(format!("v1 ns/web{taint}"));
    }
    if tainted {
        let taint =
            json!({"key": "machinist.dev/prefer-no-schedule", "effect": "PreferNoSchedule"});
        node["spec"]["taints"] = json!([taint]);
    }
    Arc::new(Nodes.project(serde_json::from_str(&node.to_string()).unwrap()))
}

/// The old set `a` and the new set `b`, with so many wanted and ready Machines.
fn sets(old: usize, new: usize) -> Vec<SetView> {
    let one =
        |kind, revision, count| with_members(set(kind, count, revision, &json!({})), count, 0);
    vec![one("a", 1, old), one("b", 2, new)]
}

/// An old Node and a new one.
fn with_nodes(deployment: &Value, sets: Vec<SetView>, marks: [&str; 2]) -> Snapshot {
    let mut snapshot = snapshot(deployment, sets);
    let nodes = [node("old", marks[0]), node("new", marks[1])];
    snapshot.content.as_mut().unwrap().nodes.members = nodes.into_iter().enumerate().collect();
    snapshot
}

fn plan(deployment: &Value, sets: Vec<SetView>, marks: [&str; 2]) -> String {
    decide(&with_nodes(deployment, sets, marks), now()).to_string()
}

fn marks(nodes: &str) -> String {
    format!("set or remove the rollout's marks on Nodes {nodes}")
}

#[test]
fn nodes_are_marked_before_a_roll_goes_on_and_until_it_is_complete() {
    let web = deployment();
    let plan = |old, new, marks| plan(&web, sets(old, new), marks);
    assert_eq!(plan(3, 0, ["", ""]), marks("old, new"));
    assert_eq!(plan(3, 0, ["+", "+"]), marks("old"));
    assert_eq!(plan(3, 0, ["+~", "+~"]), marks("new"));
    assert_eq!(plan(3, 0, ["+~", "+"]), "scale b from 0 to 1");
    assert_eq!(plan(3, 1, ["+~", "+"]), "scale a from 3 to 2");
    assert_eq!(plan(0, 3, ["", "+"]), marks("new"));
    assert_eq!(plan(0, 3, ["", ""]), "no-op: the rollout is complete");
    // Old Machines that are being deleted, or that may be in creation, count.
    for change in [|one: &mut SetView| one.leaving = 1, |one: &mut SetView| one.open = 1] {
        let mut sets = sets(0, 3);
        change(&mut sets[0]);
        let waits = decide(&with_nodes(&web, sets, ["+~", "+"]), now()).to_string();
        assert_eq!(waits, "no-op: waiting for Machines to be gone");
    }
}

#[test]
fn a_complete_rollout_stays_complete_while_marks_are_removed() {
    let plan = decide(&with_nodes(&deployment(), sets(0, 3), ["", "+"]), now());
    assert!(matches!(plan, Plan::MarkNodes { .. }));
    assert_eq!(plan.rest(), Some(Reason::Complete));
}

#[test]
fn pauses_recreate_and_the_field_take_marks_away() {
    let with = |patch: Value| {
        let mut web = deployment();
        web["spec"].as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        plan(&web, sets(2, 1), ["+~", "+"])
    };
    assert_eq!(with(json!({"paused": true})), marks("old, new"));
    assert_eq!(with(json!({"strategy": {"type": "Recreate"}})), marks("old, new"));
    assert_eq!(with(json!({"strategy": {"markNodes": false}})), marks("old, new"));
    assert_eq!(with(json!({"strategy": {"markNodes": true}})), "scale b from 1 to 2");
    let mut paused = deployment();
    paused["spec"]["paused"] = json!(true);
    assert_eq!(plan(&paused, sets(2, 1), ["", ""]), "no-op: paused");
}

#[test]
fn an_abort_that_cannot_be_stored_takes_the_marks_away_once() {
    let mut web = deployment();
    web["spec"]["strategy"] = json!({"rollingUpdate": {"abort": {}}});
    let with = |marks, is_refused: bool| {
        let mut sets = sets(3, 0);
        let failed = member("b-0", None, &json!({"status": {"phase": "Failed"}}));
        sets[1] =
            SetView { members: vec![failed], ..with_members(set("b", 1, 2, &json!({})), 0, 0) };
        let mut snapshot = with_nodes(&web, sets, marks);
        let refused = &mut snapshot.content.as_mut().unwrap().refused.objects;
        refused.extend(is_refused.then(|| Uid("b-uid".into())));
        decide(&snapshot, now()).to_string()
    };
    let store = "store on MachineSet b that 1 new Machine failed or was not ready in time: \
        b-0 (Failed), and stop the rollout";
    assert_eq!(with(["+~", "+"], false), store);
    assert_eq!(with(["+~", "+"], true), marks("old, new"));
    assert_eq!(with(["", ""], true), "no-op: the rollout is aborted");
    assert_eq!(with(["", ""], false), store, "the next try puts no mark back");
}

#[test]
fn a_spec_that_is_refused_takes_the_marks_away_and_a_correction_puts_them_back() {
    let mut web = deployment();
    web["spec"]["strategy"] = json!({"type": "Canary"});
    let refused = with_nodes(&web, sets(2, 1), ["+~", "+"]);
    let plan = decide(&refused, now());
    assert_eq!(plan.to_string(), marks("old, new"));
    let told = report(&refused, &plan, &Outcome::Executed, now());
    let conditions = told.status.unwrap()["conditions"].take();
    assert_eq!(conditions[0]["reason"], "InvalidConfiguration");
    assert_eq!(told.retry, Some(Retry::Again(Duration::from_millis(1))));
    let gone = with_nodes(&web, sets(2, 1), ["", ""]);
    assert!(decide(&gone, now()).to_string().contains("(got \"Canary\")"));
    // Nodes that cannot be written are tried again.
    let mut trouble = with_nodes(&web, sets(2, 1), ["+~", "+"]);
    let until = Duration::from_secs(9);
    trouble.content.as_mut().unwrap().nodes.trouble = Some(NodeTrouble { cause: None, until });
    let plan = decide(&trouble, now());
    assert!(matches!(plan, Plan::Refuse(_)), "{plan}");
    let told = report(&trouble, &plan, &Outcome::Nothing, now());
    assert_eq!(told.retry, Some(Retry::Again(until)));
    web["spec"]["strategy"] = json!({});
    let corrected = with_nodes(&web, sets(2, 1), ["", ""]);
    assert_eq!(decide(&corrected, now()).to_string(), marks("old, new"));
}

#[test]
fn a_rollback_moves_the_taint_to_the_other_nodes() {
    let mut back = deployment();
    back["spec"]["template"]["spec"]["providerSpec"]["value"]["instanceType"] = json!("a");
    back["metadata"]["annotations"]["machinedeployment.clusters.x-k8s.io/revision"] = json!("3");
    let mut sets = sets(2, 1);
    sets[0].set = set("a", 2, 3, &json!({}));
    assert_eq!(plan(&back, sets.clone(), ["+~", "+"]), marks("old, new"));
    assert_eq!(plan(&back, sets, ["+", "+~"]), "scale a from 2 to 3");
}

#[test]
fn a_rollout_goes_on_without_marks_while_nodes_cannot_be_written() {
    let mut snapshot = with_nodes(&deployment(), sets(3, 0), ["", ""]);
    let trouble = NodeTrouble { cause: None, until: Duration::from_secs(9) };
    snapshot.content.as_mut().unwrap().nodes.trouble = Some(trouble);
    assert_eq!(decide(&snapshot, now()).to_string(), "scale b from 0 to 1");
}

#[test]
fn nodes_of_machines_that_left_the_deployment_lose_its_marks() {
    let mut snapshot = with_nodes(&deployment(), sets(3, 1), ["+~", "+"]);
    snapshot.content.as_mut().unwrap().nodes.strays = vec![node("stray", "+~")];
    assert_eq!(decide(&snapshot, now()).to_string(), marks("stray"));
    // Also of a deployment that is being deleted, or gone.
    snapshot.meta.deleting = true;
    assert_eq!(decide(&snapshot, now()).to_string(), marks("stray"));
    snapshot.content = Err(Missing::Deleted(vec![node("stray", "+")]));
    assert_eq!(decide(&snapshot, now()).to_string(), marks("stray"));
    snapshot.content = Err(Missing::Deleted(vec![node("stray", "")]));
    assert_eq!(decide(&snapshot, now()).to_string(), "no-op: being deleted");
    let deleting = with_nodes(&deployment(), sets(3, 1), ["+~", "+"]);
    let meta = machinist_domain::meta::Meta { deleting: true, ..deleting.meta.clone() };
    let deleting = Snapshot { meta, ..deleting };
    assert_eq!(decide(&deleting, now()).to_string(), "no-op: being deleted", "they go, too");
}

#[test]
fn nodes_that_are_deleted_are_left_alone_and_many_take_several_steps() {
    let mut snapshot = with_nodes(&deployment(), sets(3, 1), ["+~", "+"]);
    let view = snapshot.content.as_mut().unwrap();
    let mut going = Node::clone(&node("old", ""));
    going.meta.deleting = true;
    view.nodes.members[0].1 = Arc::new(going);
    assert_eq!(decide(&snapshot, now()).to_string(), "scale a from 3 to 2");
    let view = snapshot.content.as_mut().unwrap();
    view.nodes.members = (0..500).map(|at| (0, node(&format!("n{at}"), ""))).collect();
    let Plan::MarkNodes { nodes, .. } = decide(&snapshot, now()) else { panic!("no marks") };
    assert_eq!(nodes.len(), super::NODES);
    assert_eq!(nodes[0].node.meta.key, ObjectKey::new("", "n0"));
}

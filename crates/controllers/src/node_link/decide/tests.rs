use std::sync::Arc;

use super::*;
use crate::node_link::error::Refusal;
use crate::node_link::samples::{machine, node};

fn now() -> Timestamp {
    "2026-03-01T12:00:00.7Z".parse().unwrap()
}

fn linked() -> Value {
    json!({"kind": "Node", "name": "n", "uid": "n-uid"})
}

fn known(put: &Value, mut metadata: Value, spec: Value) -> Arc<Node> {
    metadata["annotations"]["machine.openshift.io/machine"] = json!("prod/m");
    metadata["annotations"]["machinist.dev/node-metadata"] = json!(put.to_string());
    node(metadata, spec)
}

fn plan(machine: &Arc<Machine>, node: Arc<Node>) -> Plan {
    decide(&Snapshot { node, owner: Owner::Machine(Arc::clone(machine)) }, now())
}

fn node_patch(plan: Plan) -> Value {
    match plan {
        Plan::Link(Link { machine: None, node: Some(patch) }) => patch,
        other => panic!("expected a patch of the node alone, got {other}"),
    }
}

#[test]
fn links_a_new_node_and_its_machine() {
    let plan = plan(&machine(json!({}), Value::Null), node(json!({}), json!({})));
    let expected = Link {
        machine: Some(json!({
            "nodeRef": {"kind": "Node", "name": "n", "uid": "n-uid"},
            "lastUpdated": "2026-03-01T12:00:00Z",
        })),
        node: Some(
            json!({"metadata": {"annotations": {"machine.openshift.io/machine": "prod/m"}}}),
        ),
    };
    assert_eq!(plan, Plan::Link(expected));
}

#[test]
fn links_again_if_the_uid_differs() {
    let old = json!({"kind": "Node", "name": "n", "uid": "old"});
    let plan = plan(&machine(json!({}), old), node(json!({}), json!({})));
    let Plan::Link(Link { machine: Some(status), .. }) = plan else { panic!("{plan}") };
    assert_eq!(status["nodeRef"]["uid"], "n-uid");
}

#[test]
fn leaves_linked_nodes_alone() {
    let node = node(json!({"annotations": {"machine.openshift.io/machine": "prod/m"}}), json!({}));
    assert_eq!(plan(&machine(json!({}), linked()), node), Plan::NoOp(Reason::Linked));
}

#[test]
fn links_nothing_that_is_being_deleted() {
    let gone = json!({"deletionTimestamp": "2026-03-01T11:00:00Z"});
    let deleting = plan(&machine(json!({}), Value::Null), node(gone, json!({})));
    assert_eq!(deleting, Plan::NoOp(Reason::NodeDeleting));

    let mut machine = (*machine(json!({}), Value::Null)).clone();
    machine.meta.deleting = true;
    let plan = plan(&Arc::new(machine), node(json!({}), json!({})));
    assert_eq!(plan, Plan::NoOp(Reason::MachineDeleting));
}

#[test]
fn refuses_ambiguous_links() {
    let snapshot = |owner| Snapshot { node: node(json!({}), json!({})), owner };
    assert_eq!(decide(&snapshot(Owner::None), now()), Plan::NoOp(Reason::NoMachine));
    let two = vec![ObjectKey::new("a", "x"), ObjectKey::new("b", "y")];
    let disputed = decide(&snapshot(Owner::Ambiguous(Refusal::Disputed(two.clone()))), now());
    assert_eq!(disputed, Plan::Refuse(Refusal::Disputed(two)));
    assert!(disputed.to_string().contains("a/x, b/y"));
}

#[test]
fn sets_and_records_the_metadata_of_the_machine() {
    let spec = json!({
        "metadata": {"labels": {"tier": "gold", "zone": "a"}, "annotations": {"note": "x"}},
        "taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}],
    });
    // The zone was set by another writer before.
    let node = node(
        json!({"labels": {"zone": "a"}, "annotations": {"machine.openshift.io/machine": "prod/m"}}),
        json!({"taints": [{"key": "other", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]}),
    );
    let patch = node_patch(plan(&machine(spec, linked()), node));
    let put =
        r#"{"annotations":["note"],"labels":["tier"],"taints":["dedicated:NoSchedule"],"v":1}"#;
    let expected = json!({
        "metadata": {
            "labels": {"tier": "gold"},
            "annotations": {"note": "x", "machinist.dev/node-metadata": put},
        },
        "spec": {"taints": [
            {"key": "other", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
        ]},
    });
    assert_eq!(patch, expected);
}

#[test]
fn removes_own_metadata_and_keeps_that_of_others() {
    let put = json!({"v": 1, "labels": ["tier"], "annotations": ["note"], "taints": ["dedicated:NoSchedule"]});
    let node = known(
        &put,
        json!({"labels": {"tier": "gold", "zone": "a"}, "annotations": {"note": "x"}}),
        json!({"taints": [
            {"key": "dedicated", "effect": "NoSchedule"},
            {"key": "dedicated", "effect": "NoExecute"},
        ]}),
    );
    let patch = node_patch(plan(&machine(json!({}), linked()), node));
    let expected = json!({
        "metadata": {
            "labels": {"tier": null},
            "annotations": {"note": null, "machinist.dev/node-metadata": null},
        },
        "spec": {"taints": [{"key": "dedicated", "effect": "NoExecute"}]},
    });
    assert_eq!(patch, expected);
}

#[test]
fn restores_a_label_that_was_changed() {
    let spec = json!({"metadata": {"labels": {"tier": "gold"}}});
    let node =
        known(&json!({"v": 1, "labels": ["tier"]}), json!({"labels": {"tier": "tin"}}), json!({}));
    let patch = node_patch(plan(&machine(spec, linked()), node));
    assert_eq!(patch, json!({"metadata": {"labels": {"tier": "gold"}}}));
}

#[test]
fn keeps_a_taint_of_another_writer_with_its_value() {
    let spec = json!({"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]});
    let node = node(
        json!({"annotations": {"machine.openshift.io/machine": "prod/m"}}),
        json!({"taints": [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}]}),
    );
    assert_eq!(plan(&machine(spec, linked()), node), Plan::NoOp(Reason::Linked));
}

#[test]
fn keeps_metadata_recorded_by_a_newer_version() {
    let node =
        known(&json!({"v": 2, "labels": ["tier"]}), json!({"labels": {"tier": "gold"}}), json!({}));
    // Its note stays, too, whatever the machine wants: an older machinist ignores what it does not understand.
    let wants = json!({"metadata": {"labels": {"zone": "a"}}});
    assert_eq!(plan(&machine(wants, linked()), node), Plan::NoOp(Reason::Linked));
}

#[test]
fn a_machine_cannot_set_the_annotations_of_the_controller() {
    let spec =
        json!({"metadata": {"annotations": {"machine.openshift.io/machine": "kube-system/x"}}});
    let node = node(json!({"annotations": {"machine.openshift.io/machine": "prod/m"}}), json!({}));
    assert_eq!(plan(&machine(spec, linked()), node), Plan::NoOp(Reason::Linked));
}

proptest::proptest! {
    /// Applying it leaves nothing more to do, and touches nothing that is not wanted or was put there before.
    #[test]
    fn one_patch_is_enough(
        wanted in proptest::collection::btree_map("[a-d]", "[x-z]", 0..4),
        there in proptest::collection::btree_map("[a-f]", "[x-z]", 0..5),
        put in proptest::collection::btree_set("[a-f]", 0..4),
    ) {
        let machine = machine(json!({"metadata": {"labels": wanted}}), linked());
        let put = json!({"v": 1, "labels": put});
        let before = known(&put, json!({"labels": there}), json!({}));
        let mut labels = there.clone();
        let mut remembered = put.to_string();
        if let Plan::Link(Link { node: Some(patch), .. }) = plan(&machine, before) {
            let changes = patch["metadata"]["labels"].as_object().cloned().unwrap_or_default();
            for (name, value) in changes {
                match value.as_str() {
                    Some(value) => labels.insert(name, value.to_owned()),
                    None => labels.remove(&name),
                };
            }
            let note = &patch["metadata"]["annotations"]["machinist.dev/node-metadata"];
            if let Some(text) = note.as_str() {
                text.clone_into(&mut remembered);
            }
        }
        for (name, value) in &wanted {
            proptest::prop_assert_eq!(labels.get(name), Some(value));
        }
        for (name, value) in &there {
            let touched = wanted.contains_key(name) || put["labels"].as_array().unwrap().contains(&json!(name));
            proptest::prop_assert!(touched || labels.get(name) == Some(value));
        }
        let after = known(&serde_json::from_str(&remembered).unwrap(), json!({"labels": labels}), json!({}));
        let again = plan(&machine, after);
        let settled = match &again {
            Plan::NoOp(Reason::Linked) => true,
            // An empty note is taken off rather than written.
            Plan::Link(Link { node: Some(patch), .. }) => patch["metadata"].get("labels").is_none(),
            _ => false,
        };
        proptest::prop_assert!(settled, "{}", again);
    }
}

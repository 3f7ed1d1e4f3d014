use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::meta::Meta;
use machinist_runtime::cache::kind::Kind as _;
use serde_json::{Value, json};

use super::snapshot::{Member, NodeView, Snapshot, View};
use crate::kinds::{Machine, MachineHealthCheck, MachineHealthChecks, Node, Nodes};
use crate::machine::samples::read;

/// So many minutes after noon.
pub(super) fn at(minutes: i64) -> Timestamp {
    let noon: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
    noon + SignedDuration::from_mins(minutes)
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (field, value) in patch {
                merge(into.entry(field).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value.clone(),
    }
}

/// Ready=Unknown or False for five minutes is unhealthy.
pub(super) fn check(patch: &Value) -> Arc<MachineHealthCheck> {
    let mut object = json!({
        "metadata": {"name": "c", "namespace": "ns", "uid": "uid-c", "resourceVersion": "1",
            "creationTimestamp": "2026-06-01T10:00:00Z"},
        "spec": {
            "maxUnhealthy": "100%", "nodeStartupTimeout": "10m",
            "unhealthyConditions": [
                {"type": "Ready", "status": "Unknown", "timeout": "5m"},
                {"type": "Ready", "status": "False", "timeout": "5m"},
            ],
        },
    });
    merge(&mut object, patch);
    let wire = serde_json::from_str(&object.to_string()).unwrap();
    Arc::new(MachineHealthChecks.project(wire))
}

/// With a Node of the same name, two hours old.
pub(super) fn machine(name: &str, patch: &Value) -> Arc<Machine> {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-06-01T10:00:00Z",
            "ownerReferences": [{"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
                "name": "s", "uid": "uid-s", "controller": true}]},
        "spec": {},
        "status": {"phase": "Running", "nodeRef": {"name": name, "uid": format!("uid-{name}")}},
    });
    merge(&mut object, patch);
    Arc::new(read(&object))
}

/// Without a Node.
pub(super) fn booting(name: &str, created: Timestamp) -> Member {
    let patch = json!({"metadata": {"creationTimestamp": created.to_string()},
        "status": {"phase": "Provisioned", "nodeRef": null}});
    member(machine(name, &patch), None)
}

pub(super) fn deleting(name: &str) -> Member {
    let patch = json!({"metadata": {"deletionTimestamp": "2026-06-01T11:00:00Z"}});
    member(machine(name, &patch), Some(node(name, "True", "2026-06-01T11:00:00Z")))
}

pub(super) fn node(name: &str, ready: &str, since: &str) -> Arc<Node> {
    let conditions = json!([{"type": "Ready", "status": ready, "lastTransitionTime": since}]);
    node_with(name, &conditions)
}

pub(super) fn node_with(name: &str, conditions: &Value) -> Arc<Node> {
    let object = json!({"metadata": {"name": name, "uid": format!("node-{name}")},
        "status": {"conditions": conditions}});
    Arc::new(Nodes.project(serde_json::from_str(&object.to_string()).unwrap()))
}

pub(super) fn member(machine: Arc<Machine>, node: Option<Arc<Node>>) -> Member {
    let node = match (node, &machine.status.node_ref) {
        (Some(node), _) => NodeView::Known(node),
        (None, Some(_)) => NodeView::Gone,
        (None, None) => NodeView::None,
    };
    Member {
        meta: machine.meta.clone(),
        machine: Some(machine),
        node,
        first_seen: Vec::new(),
        frozen: None,
        request: None,
        request_pause: None,
    }
}

/// A Machine whose Node has had this status of Ready since a minute.
pub(super) fn with_node(name: &str, ready: &str, since: i64) -> Member {
    let node = node(name, ready, &at(since).to_string());
    member(machine(name, &json!({})), Some(node))
}

pub(super) fn healthy(name: &str) -> Member {
    with_node(name, "True", -60)
}

pub(super) fn view(check: Arc<MachineHealthCheck>, members: Vec<Member>, now: i64) -> View {
    View {
        now: at(now),
        check,
        members,
        deployments: BTreeMap::new(),
        control_plane_in_flight: None,
        missing: 0,
        external: None,
        overlaps: BTreeMap::new(),
    }
}

pub(super) fn snapshot(view: View) -> Snapshot {
    let meta: Meta = view.check.meta.clone();
    Snapshot { meta, content: Ok(view) }
}

use jiff::Timestamp;
use machinist_domain::conditions::whole_seconds;
use machinist_domain::key::ObjectKey;
use serde_json::{Value, json};

use super::metadata;
use super::plan::{Link, Plan, Reason};
use super::snapshot::{Owner, Snapshot};
use crate::kinds::{Machine, Node};

pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let node = &*snapshot.node;
    if node.meta.deleting {
        return Plan::NoOp(Reason::NodeDeleting);
    }
    let machine = match &snapshot.owner {
        Owner::None => return Plan::NoOp(Reason::NoMachine),
        Owner::Ambiguous(refusal) => return Plan::Refuse(refusal.clone()),
        Owner::Machine(machine) => &**machine,
    };
    if machine.meta.deleting {
        return Plan::NoOp(Reason::MachineDeleting);
    }
    let link = Link { machine: node_ref(machine, node, now), node: metadata::patch(machine, node) };
    if link.machine.is_none() && link.node.is_none() {
        return Plan::NoOp(Reason::Linked);
    }
    Plan::Link(link)
}

/// Compares uids, too: a Node that registers again has the same name.
fn node_ref(machine: &Machine, node: &Node, now: Timestamp) -> Option<Value> {
    let ObjectKey { name, .. } = &node.meta.key;
    let uid = &node.meta.uid;
    let known = machine.status.node_ref.as_ref();
    if known.is_some_and(|known| known.name == *name && known.uid == *uid) {
        return None;
    }
    Some(json!({
        "nodeRef": {"kind": "Node", "name": &**name, "uid": &*uid.0},
        "lastUpdated": whole_seconds(now).to_string(),
    }))
}

#[cfg(test)]
mod tests;

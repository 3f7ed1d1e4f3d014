//! Labels, annotations and taints that a Machine sets on its Node. `machinist.dev/node-metadata` records what was set,
//! so that it can be removed again. What others have set stays: a label that has the wanted value is not recorded.

use std::collections::BTreeSet;

use machinist_api::names::{ANNOTATION_MACHINE, ANNOTATION_NODE_METADATA};
use machinist_domain::pairs::Pairs;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::kinds::{Machine, Node, Taint};

/// The version of the record. With another version, only the Machine's name is set: a newer machinist manages the rest.
const FORM: u32 = 1;

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Put {
    v: u32,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    labels: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    annotations: BTreeSet<String>,
    /// Each as `key:effect`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    taints: BTreeSet<String>,
}

impl Put {
    /// `None` if the format is unknown.
    fn read(node: &Node) -> Option<Self> {
        let Some(stored) = node.annotations.get(ANNOTATION_NODE_METADATA) else {
            return Some(Self { v: FORM, ..Self::default() });
        };
        serde_json::from_str::<Self>(stored).ok().filter(|put| put.v == FORM)
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty() && self.taints.is_empty()
    }
}

/// A merge patch of the Node, if it differs. It is valid for this version of the Node only.
pub(super) fn patch(machine: &Machine, node: &Node) -> Option<Value> {
    let key = machine.meta.key.to_string();
    let named = node.annotations.get(ANNOTATION_MACHINE) == Some(&key);
    let Some(before) = Put::read(node) else {
        let name = || json!({"metadata": {"annotations": {ANNOTATION_MACHINE: key}}});
        return (!named).then(name);
    };
    let mut after = Put { v: FORM, ..Put::default() };
    let labels = pairs(&machine.node_labels, &node.labels, &before.labels, &mut after.labels);
    let mut annotations = pairs(
        &machine.node_annotations,
        &node.annotations,
        &before.annotations,
        &mut after.annotations,
    );
    let taints = taints(machine, node, &before, &mut after);

    if !named {
        annotations.insert(ANNOTATION_MACHINE.to_owned(), json!(key));
    }
    if after != before {
        let put = if after.is_empty() { Value::Null } else { json!(json!(after).to_string()) };
        annotations.insert(ANNOTATION_NODE_METADATA.to_owned(), put);
    }

    let mut patch = Value::Null;
    for (field, changes) in [("labels", labels), ("annotations", annotations)] {
        if !changes.is_empty() {
            patch["metadata"][field] = Value::Object(changes);
        }
    }
    if let Some(taints) = taints {
        patch["spec"]["taints"] = json!(taints);
    }
    (!patch.is_null()).then_some(patch)
}

/// Sets what is wanted and removes (null) what was set before and is not wanted any more.
fn pairs(
    wanted: &Pairs,
    there: &Pairs,
    before: &BTreeSet<String>,
    after: &mut BTreeSet<String>,
) -> Map<String, Value> {
    let mut changes = Map::new();
    // A Machine cannot set the annotations of this controller.
    let ours = |name: &str| name == ANNOTATION_MACHINE || name == ANNOTATION_NODE_METADATA;
    for (name, value) in wanted.iter().filter(|(name, _)| !ours(name)) {
        let right = there.get(name) == Some(value);
        if !right {
            changes.insert(name.to_owned(), json!(value));
        }
        if !right || before.contains(name) {
            after.insert(name.to_owned());
        }
    }
    for name in before.iter().filter(|name| !ours(name) && !wanted.contains(name)) {
        if there.contains(name) {
            changes.insert(name.clone(), Value::Null);
        }
    }
    changes
}

/// All taints of the Node, if they differ. A merge patch replaces the list, so it includes those of others.
fn taints(machine: &Machine, node: &Node, before: &Put, after: &mut Put) -> Option<Vec<Value>> {
    let ours = |taint: &Taint| before.taints.contains(&taint.to_string());
    let mut taints: Vec<Taint> = Vec::new();
    for taint in &node.taints {
        let wanted = machine.node_taints.iter().find(|wanted| wanted.is_same(taint));
        match wanted {
            // The value of our own taint follows the Machine; a taint of others keeps its value.
            Some(wanted) if ours(taint) => {
                taints.push(Taint { value: wanted.value.clone(), ..taint.clone() });
            }
            None if ours(taint) => {}
            _ => taints.push(taint.clone()),
        }
    }
    for wanted in &machine.node_taints {
        if ours(wanted) {
            after.taints.insert(wanted.to_string());
        }
        if !taints.iter().any(|taint| taint.is_same(wanted)) {
            taints.push(wanted.clone());
            after.taints.insert(wanted.to_string());
        }
    }
    (*taints != *node.taints).then(|| taints.iter().map(Taint::to_json).collect())
}

//! What is copied to living Machines and their set instead of making new ones. Pure.

use std::sync::Arc;

use machinist_api::names::{ANNOTATION_HOT_FIELDS, LABEL_TEMPLATE_HASH};
use machinist_domain::pairs::Pairs;
use serde_json::{Map, Value, json};

use super::super::hot_fields::HotFields;
use super::super::plan::Plan;
use super::super::snapshot::View;
use super::super::template::{self, Change, Soft};
use super::Desired;
use crate::kinds::{Machine, Taint};

impl Desired {
    pub(super) fn push_down(&self, view: &View, new: usize) -> Option<Plan> {
        let one = &view.sets[new];
        // A template that cannot be read is not ours: the hash is.
        let stored = template::parts(&one.set.state.spec.template, &self.hot).ok()?.soft;
        let wanted = &self.parts.soft;
        let min_ready = u64::try_from(view.deployment.spec.min_ready_seconds).unwrap_or(0);
        let old_min_ready = one.set.state.spec.min_ready.as_secs();
        let mut patch = soft_patch(&stored, wanted);
        // A set of an earlier version, or its provider declares more since.
        let left_out = HotFields::stored(one.set.state.hot_fields.as_deref());
        let is_recorded = left_out == self.hot;
        if patch.is_empty() && old_min_ready == min_ready && is_recorded {
            return None;
        }
        let machines = one.members.iter().filter_map(|member| member.machine.as_ref());
        let machines = machines.filter_map(|machine| {
            let patch = machine_patch(machine, &stored, wanted, &self.hot);
            (!patch.is_empty()).then(|| (Arc::clone(machine), Value::Object(patch)))
        });
        let machines = machines.collect();
        let mut changes = template::changes(&stored.to_json(), &wanted.to_json());
        if old_min_ready != min_ready {
            let (from, to) = (Some(old_min_ready.to_string()), Some(min_ready.to_string()));
            changes.push(Change { path: "spec.minReadySeconds".to_owned(), from, to });
        }
        let mut spec = Map::new();
        for part in ["metadata", "spec"] {
            spec.extend(patch.remove(part).map(|value| (part.to_owned(), value)));
        }
        let mut patch = json!({"spec": {"minReadySeconds": min_ready}});
        if !spec.is_empty() {
            patch["spec"]["template"] = spec.into();
        }
        if !is_recorded {
            patch["metadata"] = json!({
                "labels": {LABEL_TEMPLATE_HASH: self.hash},
                "annotations": {ANNOTATION_HOT_FIELDS: self.hot.to_text()},
            });
        }
        Some(Plan::PushDown { set: Arc::clone(&one.set), patch, machines, changes })
    }
}

/// What of a template changes: `metadata.annotations`, `spec.metadata`, `spec.taints` and `spec.providerSpec.value`.
fn soft_patch(from: &Soft, to: &Soft) -> Map<String, Value> {
    let mut patch = Map::new();
    let timeouts = template::merge_patch(&from.timeouts, &to.timeouts);
    if !timeouts.is_empty() {
        patch.insert("metadata".to_owned(), json!({"annotations": timeouts}));
    }
    let mut node = Map::new();
    for (name, from, to) in [
        ("labels", &from.node_labels, &to.node_labels),
        ("annotations", &from.node_annotations, &to.node_annotations),
    ] {
        let change = template::merge_patch(from, to);
        if !change.is_empty() {
            node.insert(name.to_owned(), change.into());
        }
    }
    let mut spec = Map::new();
    if !node.is_empty() {
        spec.insert("metadata".to_owned(), node.into());
    }
    if from.taints != to.taints {
        spec.insert("taints".to_owned(), to.taints.clone().into());
    }
    let hot = template::merge_patch(&from.hot, &to.hot);
    if !hot.is_empty() {
        spec.insert("providerSpec".to_owned(), json!({"value": hot}));
    }
    if !spec.is_empty() {
        patch.insert("spec".to_owned(), spec.into());
    }
    patch
}

/// The same change on a Machine, which may have it already. What others added to the Machine stays, except in lists:
/// taints, and fields of the provider spec that are lists.
fn machine_patch(machine: &Machine, from: &Soft, to: &Soft, hot: &HotFields) -> Map<String, Value> {
    let object = |pairs: &Pairs| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    };
    // Only the keys that change in the template.
    let wanted = |own: &Map<String, Value>, from: &Map<String, Value>, to: &Map<String, Value>| {
        template::patched(own, &template::merge_patch(from, to))
    };
    let spec = machine.provider_spec.as_ref().and_then(|spec| hot.read(&spec.raw));
    let own = Soft {
        timeouts: object(&machine.annotations),
        node_labels: object(&machine.node_labels),
        node_annotations: object(&machine.node_annotations),
        taints: machine.node_taints.iter().map(Taint::to_json).collect(),
        hot: spec.clone().unwrap_or_default(),
    };
    let new_taints = if from.taints == to.taints { &own.taints } else { &to.taints };
    let new = Soft {
        timeouts: wanted(&own.timeouts, &from.timeouts, &to.timeouts),
        node_labels: wanted(&own.node_labels, &from.node_labels, &to.node_labels),
        node_annotations: wanted(
            &own.node_annotations,
            &from.node_annotations,
            &to.node_annotations,
        ),
        taints: new_taints.clone(),
        // A Machine without a provider spec gets no part of one.
        hot: spec.map(|own| wanted(&own, &from.hot, &to.hot)).unwrap_or_default(),
    };
    soft_patch(&own, &new)
}

#[cfg(test)]
mod tests;

//! What is copied to living Machines and their set instead of making new ones. Pure.
//!
//! Order of writes: 1. The set gets the new template and, in the same patch, which fields changed: Machines that are
//! created from now on have it. 2. Machines that differ are patched; after a crash or a failure the rest of them are,
//! because the fields are stored. 3. The fields are removed when no Machine can be left: none is in creation (a Machine
//! in creation may have the template from before 1; a create can be executed late only while its ordinal is in the
//! window), and none differs after a live list in this state of the set.
//! 2 and 3 follow scaling: a Machine that cannot be patched holds up neither a rollout nor an autoscaler.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_HOT_FIELDS, ANNOTATION_PENDING_CHANGES, LABEL_TEMPLATE_HASH,
};
use serde_json::{Map, Value, json};

use super::super::hot_fields::HotFields;
use super::super::pending::Pending;
use super::super::plan::{Plan, Reason};
use super::super::snapshot::{SetView, View};
use super::super::template::{self, Change, Soft};
use super::Desired;
use crate::kinds::Machine;

/// Machines of one step, so that the deployment is scaled meanwhile.
const MACHINES: usize = 128;

impl Desired {
    pub(super) fn push_down(&self, view: &View, new: usize, now: Timestamp) -> Option<Plan> {
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
        let before = one.set.state.pending_changes.as_deref();
        let pending = Pending::read(before).with(&stored, wanted);
        if let Some(text) = pending.to_text().filter(|text| Some(&**text) != before) {
            patch["metadata"]["annotations"][ANNOTATION_PENDING_CHANGES] = json!(text);
        }
        let machines = self.behind(one, &pending).len();
        let rest = self.advance(view, now).rest();
        Some(Plan::PushDown { set: Arc::clone(&one.set), patch, machines, changes, rest })
    }

    pub(super) fn push_machines(&self, view: &View, new: usize, rest: Reason) -> Option<Plan> {
        let one = &view.sets[new];
        let pending = one.set.state.pending_changes.as_deref()?;
        let behind = self.behind(one, &Pending::read(Some(pending)));
        let (refused, mut behind): (Vec<_>, Vec<_>) =
            behind.into_iter().partition(|(machine, _)| view.refused.has(&machine.meta));
        behind.truncate(MACHINES);
        if !behind.is_empty() {
            return Some(Plan::PushMachines { machines: behind, rest });
        }
        let is_closed = one.set.state.window.as_ref().is_ok_and(|window| window.is_closed());
        let is_read = one.members.iter().all(|member| member.machine.is_some());
        let is_done = is_closed && one.open == 0 && is_read && refused.is_empty();
        let is_done = is_done && !view.refused.has(&one.set.meta);
        let set = Arc::clone(&one.set);
        is_done.then_some(Plan::PushDone { set, listed: view.listed, rest })
    }

    /// Machines that differ from the template in fields that changed, and their patches.
    fn behind(&self, one: &SetView, pending: &Pending) -> Vec<(Arc<Machine>, Value)> {
        let machines = one.members.iter().filter_map(|member| member.machine.as_ref());
        let behind = machines.filter_map(|machine| {
            let patch = pending.machine_patch(machine, &self.hot, &self.parts.soft);
            (!patch.is_empty()).then(|| (Arc::clone(machine), Value::Object(patch)))
        });
        behind.collect()
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

#[cfg(test)]
mod tests;

//! The marks of a rollout on a Node, and their record. Pure.
//!
//! The annotation by which cluster-autoscaler keeps the Node ([`scale_down`]), and a taint by which new pods prefer
//! other Nodes. `machinist.dev/rollout` records the deployment and whether the taint is ours, in the patch that writes
//! them. So what others set stays, what others remove is not set again, and a Node has two writes per rollout, or three
//! with canaries.

use std::fmt;
use std::sync::Arc;

use machinist_api::names::{
    ANNOTATION_ROLLOUT, ANNOTATION_SCALE_DOWN_DISABLED, ANNOTATION_SCALE_DOWN_DISABLED_BY,
    PREFER_NO_SCHEDULE, TAINT_REPLACED_NEXT,
};
use machinist_domain::key::ObjectKey;
use serde_json::{Map, Value, json};

use crate::kinds::{Node, Taint};
use crate::scale_down;

/// In the record of those that keep the annotation.
const HOLDER: &str = "machinedeployment";
const FORM: &str = "v1";
const TAINT: &str = "prefer-no-schedule";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) scale_down_disabled: bool,
    pub(super) prefer_no_schedule: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    deployment: ObjectKey,
    taint: bool,
}

impl Record {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (FORM, deployment, taint) = (words.next()?, words.next()?, words.next()) else {
            return None;
        };
        let (namespace, name) = deployment.split_once('/')?;
        if taint.is_some_and(|taint| taint != TAINT) || words.next().is_some() {
            return None;
        }
        Some(Self { deployment: ObjectKey::new(namespace, name), taint: taint.is_some() })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{FORM} {}", self.deployment)?;
        if self.taint { write!(f, " {TAINT}") } else { Ok(()) }
    }
}

/// The deployment whose marks the Node has.
pub(super) fn deployment_of(node: &Node) -> Option<ObjectKey> {
    Some(Record::read(node.annotations.get(ANNOTATION_ROLLOUT)?)?.deployment)
}

/// The term of an index.
pub(super) fn by_deployment(node: &Node) -> Vec<Arc<str>> {
    deployment_of(node).map(|key| key.to_string().into()).into_iter().collect()
}

/// What of a Node matters here: annotations, and whether it has the taint.
pub(super) type Seen<'a> = ([Option<&'a str>; 3], bool);

pub(super) fn seen(node: &Node) -> Seen<'_> {
    let names =
        [ANNOTATION_ROLLOUT, ANNOTATION_SCALE_DOWN_DISABLED, ANNOTATION_SCALE_DOWN_DISABLED_BY];
    let taint = taint();
    let has_taint = node.taints.iter().any(|one| one.is_same(&taint));
    (names.map(|name| node.annotations.get(name)), has_taint)
}

/// A merge patch for this version of the Node, if its marks differ. A record in an unknown form stays, and all marks
/// with it.
pub(super) fn patch(node: &Node, deployment: &ObjectKey, wanted: Marks) -> Option<Value> {
    let stored = node.annotations.get(ANNOTATION_ROLLOUT);
    let recorded = match stored.map(Record::read) {
        None => false,
        Some(record) => record?.taint,
    };
    let change = scale_down::change(node, HOLDER, wanted.scale_down_disabled);
    let is_held = scale_down::is_held(node, HOLDER) == change.is_empty();
    let (taints, taint) = taints(node, recorded, wanted.prefer_no_schedule);
    let mut annotations: Map<_, _> =
        change.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let record = Record { deployment: deployment.clone(), taint };
    let record = (is_held || taint).then(|| record.to_string());
    if stored != record.as_deref() {
        annotations.insert(ANNOTATION_ROLLOUT.to_owned(), json!(record));
    }
    let mut patch = Value::Null;
    if !annotations.is_empty() {
        patch["metadata"]["annotations"] = Value::Object(annotations);
    }
    if let Some(taints) = taints {
        patch["spec"]["taints"] = taints;
    }
    (!patch.is_null()).then_some(patch)
}

fn taint() -> Taint {
    let (key, effect) = (TAINT_REPLACED_NEXT.into(), PREFER_NO_SCHEDULE.into());
    Taint { key, value: None, effect, time_added: None }
}

/// All taints, if they change, and whether ours is recorded then. A merge patch replaces the list, so it includes those
/// of others. A taint like ours that is not recorded is another client's, and so is one with a value.
fn taints(node: &Node, recorded: bool, wanted: bool) -> (Option<Value>, bool) {
    let ours = taint();
    let present = node.taints.iter().find(|one| one.is_same(&ours));
    let json = |taints: &mut dyn Iterator<Item = &Taint>| taints.map(Taint::to_json).collect();
    match (recorded, wanted, present) {
        (false, true, None) => (Some(json(&mut node.taints.iter().chain([&ours]))), true),
        (true, false, Some(taint)) if taint.value.is_none() => {
            (Some(json(&mut node.taints.iter().filter(|one| !one.is_same(&ours)))), false)
        }
        (true, true, _) => (None, true),
        _ => (None, false),
    }
}

#[cfg(test)]
mod tests;

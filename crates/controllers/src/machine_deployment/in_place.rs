//! The steps of updates in place, and what they write. Pure. [`decide`](mod@super::decide) chooses them.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_HOLD, ANNOTATION_IN_PLACE_TARGET, IN_PLACE_CANDIDATE, IN_PLACE_SELECTED,
    LABEL_IN_PLACE, LABEL_IN_PLACE_RESULT, LABEL_TEMPLATE_HASH,
};
use machinist_api::resource::MACHINE_SETS;
use serde_json::map::Entry;
use serde_json::{Value, json};

use super::hot_fields::HotFields;
use super::messages;
use super::pending::Pending;
use super::plan::set_name;
use super::template;
use crate::kinds::{Machine, MachineSet, Template};
use crate::machine_set::hold::{Hold, RELEASED};
use crate::owner_references::references;

#[derive(Debug, Clone)]
pub enum Step {
    /// Change the marks of Machines.
    Mark(Vec<(Arc<Machine>, Mark)>),
    /// From now on the set neither creates nor deletes Machines.
    Hold { set: Arc<MachineSet>, hold: Hold },
    /// Both sets are held.
    Move { machine: Arc<Machine>, from: Arc<MachineSet>, to: Arc<MachineSet> },
    /// End the hold of a set, and with the same write set its size, if the Machine has been moved.
    Release { set: Arc<MachineSet>, size: Option<(usize, usize)>, all_seen: bool },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// It has another template.
    Candidate,
    /// It is updated to this MachineSet.
    Admitted(Arc<str>),
    /// It is not updated.
    Removed,
}

impl Mark {
    /// An earlier result is always removed: it is about another update.
    pub(super) fn patch(&self) -> Value {
        let (state, target) = match self {
            Self::Candidate => (json!(IN_PLACE_CANDIDATE), Value::Null),
            Self::Admitted(target) => (json!(IN_PLACE_SELECTED), json!(&**target)),
            Self::Removed => (Value::Null, Value::Null),
        };
        json!({"metadata": {
            "labels": {LABEL_IN_PLACE: state, LABEL_IN_PLACE_RESULT: null},
            "annotations": {ANNOTATION_IN_PLACE_TARGET: target},
        }})
    }
}

pub(super) fn hold_patch(hold: &Hold) -> Value {
    json!({"metadata": {"annotations": {ANNOTATION_HOLD: hold.to_string()}}})
}

pub(super) fn release_patch(size: Option<(usize, usize)>) -> Value {
    let mut patch = json!({"metadata": {"annotations": {ANNOTATION_HOLD: RELEASED}}});
    if let Some((_, size)) = size {
        patch["spec"] = json!({"replicas": size});
    }
    patch
}

/// One write makes a Machine that of another set: its owner, the labels that the set's selector needs, what differs
/// between the templates, and what changed in the old one and did not reach the Machine. What others have added to the
/// Machine stays.
pub(super) fn move_patch(
    machine: &Machine,
    from: &MachineSet,
    to: &MachineSet,
) -> Result<Value, serde_json::Error> {
    let (old, new) = (&from.state.spec.template, &to.state.spec.template);
    let mut patch = template::difference(&with_maps(old)?, &with_maps(new)?);
    let hot = HotFields::stored(to.state.hot_fields.as_deref());
    let pending = Pending::read(from.state.pending_changes.as_deref());
    let behind = pending.machine_patch(machine, &hot, &template::parts(new, &hot)?.soft);
    add(&mut patch, behind.into());
    let metadata = &mut patch["metadata"];
    metadata["ownerReferences"] = references(&machine.other_owners, Some((MACHINE_SETS, &to.meta)));
    let labels = &mut metadata["labels"];
    labels[LABEL_TEMPLATE_HASH] = json!(new.labels.get(LABEL_TEMPLATE_HASH));
    labels[LABEL_IN_PLACE] = Value::Null;
    labels[LABEL_IN_PLACE_RESULT] = Value::Null;
    metadata["annotations"][ANNOTATION_IN_PLACE_TARGET] = Value::Null;
    Ok(patch)
}

/// With labels and annotations of the Node also if there are none: so keys are removed, and not the map, in which
/// others may have keys.
fn with_maps(template: &Template) -> Result<Value, serde_json::Error> {
    let mut whole = template::whole(template)?;
    let node = &mut whole["spec"]["metadata"];
    for maps in ["labels", "annotations"] {
        if node[maps].is_null() {
            node[maps] = json!({});
        }
    }
    Ok(whole)
}

/// Both merge patches have the values of the same template. What one of them removes as a whole stays removed.
fn add(patch: &mut Value, more: Value) {
    match (patch, more) {
        (Value::Object(patch), Value::Object(more)) => {
            for (name, value) in more {
                match patch.entry(name) {
                    Entry::Occupied(mut known) => add(known.get_mut(), value),
                    Entry::Vacant(free) => drop(free.insert(value)),
                }
            }
        }
        (Value::Null, _) => {}
        (patch, more) => *patch = more,
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(machines) => {
                let named = |kind: fn(&Mark) -> bool| {
                    let of_kind = machines.iter().filter(move |(_, mark)| kind(mark));
                    messages::names(of_kind.map(|(machine, _)| &*machine.meta.key.name))
                };
                let mut separator = "update in place: ";
                for (verb, names) in [
                    ("select", named(|mark| matches!(mark, Mark::Admitted(_)))),
                    ("candidates are", named(|mark| *mark == Mark::Candidate)),
                    ("remove the marks of", named(|mark| *mark == Mark::Removed)),
                ] {
                    if !names.is_empty() {
                        write!(f, "{separator}{verb} {names}")?;
                        separator = ", ";
                    }
                }
                Ok(())
            }
            Self::Hold { set, hold } => {
                write!(f, "hold MachineSet {} while {} is moved", set_name(set), hold.machine)
            }
            Self::Move { machine, from, to } => {
                let machine = &machine.meta.key.name;
                write!(f, "move {machine} from {} to {}", set_name(from), set_name(to))
            }
            Self::Release { set, size: None, .. } => {
                write!(f, "release MachineSet {}", set_name(set))
            }
            Self::Release { set, size: Some((from, to)), .. } => {
                write!(f, "release MachineSet {}, scaled from {from} to {to}", set_name(set))
            }
        }
    }
}

/// How an update in place stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Machines that are drained or updated.
    pub updating: usize,
    /// Machines whose update failed, or has no result in time.
    pub failed: usize,
    /// Machines of other templates that are not selected.
    pub waiting: usize,
    /// Those that cannot be selected.
    pub stuck: usize,
    /// Whether users select.
    pub manual: bool,
}

impl Progress {
    pub(super) fn has_machines(&self) -> bool {
        self.updating + self.failed + self.waiting + self.stuck > 0
    }
}

/// Why a Machine cannot be selected for an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Obstacle {
    Failed,
    /// No agent can update it.
    WithoutNode,
    /// It is kept for debugging until then.
    Kept(Timestamp),
}

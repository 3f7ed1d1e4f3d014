use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::retry::Failure;
use serde_json::Value;

use super::error::Refusal;
use super::failed::FailedMachines;
use super::in_place::{Progress, Step};
use super::messages;
use super::template::Change;
use crate::kinds::{Machine, MachineSet, Node};

#[derive(Debug, Clone)]
pub enum Plan {
    NoOp(Reason),
    Refuse(Refusal),
    /// `rest`, here and below: why the MachineSets would not be scaled now, if they would not.
    Claim {
        adopt: Vec<Arc<MachineSet>>,
        release: Vec<Arc<MachineSet>>,
        rest: Option<Reason>,
    },
    /// Create the set of the current template, without Machines.
    Create {
        name: String,
        hash: String,
        /// The annotation with the fields that the hash leaves out.
        hot_fields: Option<String>,
        revision: i64,
    },
    /// Store the revision, and the change cause if there is one, on the set of the current template.
    SetRevision {
        set: Arc<MachineSet>,
        revision: i64,
        /// The set had a rollout before, and this one begins now.
        started: Option<Timestamp>,
        rest: Option<Reason>,
    },
    /// Store on the set of the current template what a guarded rollout found, before it goes on or stops.
    Guard {
        set: Arc<MachineSet>,
        finding: Finding,
        rest: Option<Reason>,
    },
    /// Store it on the deployment.
    AnnotateRevision {
        revision: i64,
        rest: Option<Reason>,
    },
    /// Copy to the set what can change without new Machines, and store which fields these are.
    PushDown {
        set: Arc<MachineSet>,
        patch: Value,
        /// How many Machines will be changed.
        machines: usize,
        changes: Vec<Change>,
        rest: Option<Reason>,
    },
    /// Put the marks of a rollout on Nodes, or remove them.
    MarkNodes {
        nodes: Vec<NodePatch>,
        rest: Option<Reason>,
    },
    /// Copy it to living Machines of the set.
    PushMachines {
        machines: Vec<(Arc<Machine>, Value)>,
        rest: Reason,
    },
    /// All Machines in the view have it. Unless they were `listed` live, list them; then forget which fields changed.
    PushDone {
        set: Arc<MachineSet>,
        listed: bool,
        rest: Reason,
    },
    /// Request that failed Machines are kept for debugging.
    Preserve {
        machines: Vec<Arc<Machine>>,
        rest: Option<Reason>,
    },
    /// Mark unavailable Machines, so that the next scale-down deletes these.
    Mark(Vec<Arc<Machine>>),
    /// Remove our mark from available Machines that are not to be deleted any more.
    Unmark(Vec<Arc<Machine>>),
    Scale(Vec<Resize>),
    InPlace(Step),
    /// List the Machines live: some may not be in the cache, and it matters.
    List,
    /// Delete an empty set beyond the history.
    Delete {
        set: Arc<MachineSet>,
        rest: Reason,
    },
}

/// A merge patch of a Node, for this version of it.
#[derive(Debug, Clone)]
pub struct NodePatch {
    pub node: Arc<Node>,
    pub patch: Value,
}

/// A set that is scaled.
#[derive(Debug, Clone)]
pub struct Resize {
    pub set: Arc<MachineSet>,
    pub from: usize,
    pub to: usize,
    /// Whether all its Machines are in the view.
    pub all_seen: bool,
}

/// What a guarded rollout stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// When the canaries had been available for long enough.
    CanaryPassed(Timestamp),
    /// The rollout is complete, so its template needs no canaries later.
    Complete(Timestamp),
    /// All new Machines that failed, and when the rollout is aborted, if it is.
    Failed(FailedMachines, Option<Timestamp>),
}

/// The state of the canaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Soak {
    pub canaries: usize,
    pub seconds: i64,
    /// When it ends, if they stay available. `None` if some are missing.
    pub ends: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Complete,
    /// So many new Machines must become available.
    Available(usize),
    /// Machines must be gone, or their deletion seen.
    Gone,
    Paused,
    /// Canaries are observed.
    Canary(Soak),
    /// The rollout was stopped because of new Machines that do not work.
    Aborted,
    /// Machines are updated in place.
    InPlace(Progress),
    /// A Machine is moved between two sets, and it or a set cannot be read or written.
    Moving,
    /// Garbage collection deletes its MachineSets.
    Deleting,
    /// The set of the current template is being deleted; another one gets its name afterwards.
    SetDeleting,
    /// It cannot be adopted or released yet, and has the name of the current template's.
    SetNotOwned,
}

impl Plan {
    /// Why the MachineSets are not scaled, if they are not. What else is done does not change whether a rollout is
    /// complete.
    pub(super) fn rest(&self) -> Option<Reason> {
        match self {
            Self::NoOp(reason)
            | Self::PushMachines { rest: reason, .. }
            | Self::PushDone { rest: reason, .. }
            | Self::Delete { rest: reason, .. } => Some(*reason),
            Self::Claim { rest, .. }
            | Self::SetRevision { rest, .. }
            | Self::Guard { rest, .. }
            | Self::AnnotateRevision { rest, .. }
            | Self::PushDown { rest, .. }
            | Self::MarkNodes { rest, .. }
            | Self::Preserve { rest, .. } => *rest,
            _ => None,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |sets: &[Arc<MachineSet>]| messages::names(sets.iter().map(set_name));
        match self {
            Self::NoOp(Reason::Complete) => f.write_str("no-op: the rollout is complete"),
            Self::NoOp(Reason::Available(count)) => {
                write!(f, "no-op: {}", messages::waits_available(*count))
            }
            Self::NoOp(Reason::Gone) => f.write_str("no-op: waiting for Machines to be gone"),
            Self::NoOp(Reason::Paused) => f.write_str("no-op: paused"),
            Self::NoOp(Reason::Canary(soak)) => write!(f, "no-op: {}", messages::soaks(*soak)),
            Self::NoOp(Reason::Aborted) => f.write_str("no-op: the rollout is aborted"),
            Self::NoOp(Reason::InPlace(progress)) => {
                write!(f, "no-op: {}", messages::waits_in_place(*progress))
            }
            Self::NoOp(Reason::Moving) => write!(f, "no-op: {}", messages::WAITS_MOVE),
            Self::NoOp(Reason::Deleting) => f.write_str("no-op: being deleted"),
            Self::NoOp(Reason::SetDeleting) => {
                f.write_str("no-op: waiting for the MachineSet of the same name to be gone")
            }
            Self::NoOp(Reason::SetNotOwned) => {
                f.write_str("no-op: the MachineSet of that name must be adopted or released first")
            }
            Self::Refuse(refusal) => write!(f, "no-op: {refusal}"),
            Self::Claim { adopt, release, .. } => {
                let separator = if adopt.is_empty() || release.is_empty() { "" } else { ", " };
                let part = |verb, sets: &[Arc<MachineSet>]| match sets.len() {
                    0 => String::new(),
                    _ => format!("{verb} {}", names(sets)),
                };
                write!(f, "{}{separator}{}", part("adopt", adopt), part("release", release))
            }
            Self::Create { name, revision, .. } => {
                write!(f, "create MachineSet {name} of revision {revision}")
            }
            Self::SetRevision { set, revision, .. } => {
                write!(f, "set revision {revision} on MachineSet {}", set_name(set))
            }
            Self::Guard { set, finding: Finding::CanaryPassed(_), .. } => {
                write!(f, "store that the canaries of MachineSet {} passed", set_name(set))
            }
            Self::Guard { set, finding: Finding::Complete(_), .. } => {
                write!(f, "store that MachineSet {} needs no canaries", set_name(set))
            }
            Self::Guard { set, finding: Finding::Failed(failed, aborted), .. } => {
                let stop = if aborted.is_some() { ", and stop the rollout" } else { "" };
                write!(f, "store on MachineSet {} that {failed}{stop}", set_name(set))
            }
            Self::AnnotateRevision { revision, .. } => write!(f, "set revision {revision}"),
            Self::PushDown { set, .. } => write!(f, "update MachineSet {}", set_name(set)),
            Self::PushMachines { machines, .. } => {
                let names = machines.iter().map(|(machine, _)| &*machine.meta.key.name);
                write!(f, "update {} as its template", messages::names(names))
            }
            Self::PushDone { set, listed: false, .. } => {
                write!(f, "list the Machines of {} before its update ends", set_name(set))
            }
            Self::PushDone { set, .. } => {
                write!(f, "end the update of the Machines of {}", set_name(set))
            }
            Self::MarkNodes { nodes, .. } => {
                let names = nodes.iter().map(|one| &*one.node.meta.key.name);
                write!(f, "set or remove the rollout's marks on Nodes {}", messages::names(names))
            }
            Self::Preserve { machines, .. } => {
                let names = machines.iter().map(|machine| &*machine.meta.key.name);
                write!(f, "preserve {}", messages::names(names))
            }
            Self::Mark(machines) => {
                write!(f, "mark {} for deletion", messages::names(machine_names(machines)))
            }
            Self::Unmark(machines) => {
                let names = messages::names(machine_names(machines));
                write!(f, "remove the mark for deletion from {names}")
            }
            Self::Scale(sizes) => f.write_str(&messages::sizes(sizes)),
            Self::InPlace(step) => step.fmt(f),
            Self::List => f.write_str("list Machines that may not be in the cache"),
            Self::Delete { set, .. } => write!(f, "delete old MachineSet {}", set_name(set)),
        }
    }
}

fn machine_names(machines: &[Arc<Machine>]) -> impl Iterator<Item = &str> {
    machines.iter().map(|machine| &*machine.meta.key.name)
}

pub(super) fn set_name(set: &Arc<MachineSet>) -> &str {
    &set.meta.key.name
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Nothing,
    /// The object was deleted or changed after it was observed: the plan was dropped.
    Outdated,
    DryRun,
    Executed,
    /// Another object has the name of the new MachineSet.
    Collision,
    Failed(Failure),
}

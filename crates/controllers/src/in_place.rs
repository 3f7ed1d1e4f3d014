//! Updates in place: the marks on Machines and Nodes by which the controllers `machinedeployment` and `machine` and the
//! agent on a Node hand a Machine on. Pure. docs/concepts/in-place-updates.md has the flow.
//!
//! A Machine is being updated while it is selected and has a target, the MachineSet with the template that it gets. Its
//! result is taken only then.

use machinist_api::names::{
    ANNOTATION_IN_PLACE_TARGET, CONDITION_IN_PLACE_UPDATE, IN_PLACE_CANDIDATE, IN_PLACE_DRAINING,
    IN_PLACE_FAILED, IN_PLACE_READY, IN_PLACE_SELECTED, IN_PLACE_SUCCESSFUL, LABEL_IN_PLACE,
    LABEL_IN_PLACE_RESULT, REASON_IN_PLACE_CANDIDATE, REASON_IN_PLACE_READY,
    REASON_IN_PLACE_SELECTED, REASON_IN_PLACE_TIMED_OUT,
};
use machinist_domain::pairs::Pairs;

use crate::kinds::{Machine, Node};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateResult {
    Successful,
    Failed,
}

impl UpdateResult {
    /// The result in the labels of a Machine or Node; other values are none.
    pub(crate) fn of(labels: &Pairs) -> Option<Self> {
        match labels.get(LABEL_IN_PLACE_RESULT)? {
            IN_PLACE_SUCCESSFUL => Some(Self::Successful),
            IN_PLACE_FAILED => Some(Self::Failed),
            _ => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Successful => IN_PLACE_SUCCESSFUL,
            Self::Failed => IN_PLACE_FAILED,
        }
    }
}

pub(crate) fn is_candidate(machine: &Machine) -> bool {
    machine.labels.get(LABEL_IN_PLACE) == Some(IN_PLACE_CANDIDATE)
}

pub(crate) fn is_selected(machine: &Machine) -> bool {
    machine.labels.get(LABEL_IN_PLACE) == Some(IN_PLACE_SELECTED)
}

/// Whether any mark is left on it.
pub(crate) fn is_marked(machine: &Machine) -> bool {
    machine.labels.contains(LABEL_IN_PLACE)
        || machine.labels.contains(LABEL_IN_PLACE_RESULT)
        || machine.annotations.contains(ANNOTATION_IN_PLACE_TARGET)
}

/// The MachineSet to which a Machine is being updated.
pub(crate) fn target(machine: &Machine) -> Option<&str> {
    machine.annotations.get(ANNOTATION_IN_PLACE_TARGET).filter(|_| is_selected(machine))
}

fn reason(machine: &Machine) -> Option<&str> {
    machine.condition(CONDITION_IN_PLACE_UPDATE)?.reason.as_deref()
}

/// Whether the agent may be at work on it: this is stored before the agent is admitted, in the status of the Machine,
/// so a
/// write that takes the Machine out of its update with its resourceVersion fails if it is.
pub(crate) fn is_offered(machine: &Machine) -> bool {
    matches!(reason(machine), Some(REASON_IN_PLACE_READY | REASON_IN_PLACE_TIMED_OUT))
}

/// Whether its update has no result in time.
pub(crate) fn is_late(machine: &Machine) -> bool {
    reason(machine) == Some(REASON_IN_PLACE_TIMED_OUT)
}

/// Whether it does not count as available: from its selection until its Node is schedulable again, which the condition
/// shows by its absence.
pub(crate) fn is_unavailable(machine: &Machine) -> bool {
    let waits = [REASON_IN_PLACE_CANDIDATE, REASON_IN_PLACE_SELECTED];
    target(machine).is_some() || reason(machine).is_some_and(|reason| !waits.contains(&reason))
}

/// The mark of a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeMark<'a> {
    None,
    /// Drained for an update to this MachineSet.
    Draining(&'a str),
    /// The agent may update it.
    Ready(&'a str),
}

impl<'a> NodeMark<'a> {
    pub(crate) fn of(node: &'a Node) -> Self {
        let target = node.annotations.get(ANNOTATION_IN_PLACE_TARGET).unwrap_or_default();
        match node.labels.get(LABEL_IN_PLACE) {
            None => Self::None,
            Some(IN_PLACE_READY) => Self::Ready(target),
            // Any other value: the drain is begun again. `IN_PLACE_DRAINING` is ours.
            Some(IN_PLACE_DRAINING) => Self::Draining(target),
            Some(_) => Self::Draining(""),
        }
    }
}

/// What of a Node its Machine's update depends on.
pub(crate) fn marks(node: &Node) -> [Option<&str>; 3] {
    let labels = [LABEL_IN_PLACE, LABEL_IN_PLACE_RESULT].map(|name| node.labels.get(name));
    [labels[0], labels[1], node.annotations.get(ANNOTATION_IN_PLACE_TARGET)]
}

//! Which Machines a MachineSet deletes first: marked ones, then failed ones, then those without a Node. Pure, and
//! shared by its controller and that of MachineDeployments, which scales such that the right ones go.

use machinist_api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY, MARKED_BY_DEPLOYMENT,
};

use crate::kinds::Machine;
use crate::preservation::has_failed;

/// In the order of deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Marked,
    Failed,
    WithoutNode,
    Other,
}

impl Class {
    pub(crate) fn of(machine: &Machine) -> Self {
        if is_marked(machine) {
            Self::Marked
        } else if has_failed(machine) {
            Self::Failed
        } else if machine.status.node_ref.is_none() {
            Self::WithoutNode
        } else {
            Self::Other
        }
    }
}

/// By a user, cluster-autoscaler or the controller of MachineDeployments.
pub(crate) fn is_marked(machine: &Machine) -> bool {
    marks(machine).next().is_some()
}

/// By a user or cluster-autoscaler.
pub(crate) fn is_marked_by_others(machine: &Machine) -> bool {
    marks(machine).any(|mark| mark != MARKED_BY_DEPLOYMENT)
}

fn marks(machine: &Machine) -> impl Iterator<Item = &str> {
    let names = [ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY];
    let values = names.into_iter().filter_map(|name| machine.annotations.get(name));
    values.filter(|value| !value.is_empty())
}

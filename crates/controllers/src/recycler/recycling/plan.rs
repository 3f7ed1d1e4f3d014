use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{GroupChange, InstanceId};

use crate::drain;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub action: Action,
    /// The next step of each drain in progress.
    pub drains: Drains,
}

pub(super) type Drains = BTreeMap<InstanceId, drain::Plan>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Store this, and do nothing else in the same reconcile.
    Store(Box<Recycle>),
    /// Change the group. A mark is stored only where the group has none of another recycle.
    Change(GroupChange),
    Terminate(Termination),
    /// Execute the drains that have effects.
    Drain,
    /// Remove the annotation of a drain from a Node, and its cordon if the drain set it.
    Release {
        node: Meta,
        uncordon: bool,
    },
    /// Requeue after this time. The text has no times and counts, so that it changes only with the cause.
    Wait {
        pause: Duration,
        why: String,
    },
    Over,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    pub instance: InstanceId,
    /// The Node that must still belong to the instance; `None` where it has none.
    pub node: Option<Arc<str>>,
    /// Whether the Node must still be cordoned.
    pub drained: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Nothing,
    Done,
    DryRun,
    /// The state changed since the decision; requeue.
    Outdated,
    Failed(Failure),
    Drained(Vec<(InstanceId, drain::Outcome)>),
}

impl Action {
    pub(super) fn changes_cloud(&self) -> bool {
        matches!(self, Self::Change(_) | Self::Terminate(_))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Store(recycle) => {
                write!(f, "recycle {}: {}", recycle.group, recycle.step.as_str())
            }
            Action::Change(change) => change.fmt(f),
            Action::Terminate(termination) => write!(f, "terminate {}", termination.instance),
            Action::Drain => {
                let mut between = "";
                for (instance, drain) in self.drains.iter().filter(|(_, drain)| drain.has_effects())
                {
                    write!(f, "{between}{instance}: {drain}")?;
                    between = "; ";
                }
                Ok(())
            }
            Action::Release { node, .. } => write!(f, "release {}", node.key),
            Action::Wait { why, .. } => write!(f, "wait: {why}"),
            Action::Over => f.write_str("the recycle is over"),
        }
    }
}

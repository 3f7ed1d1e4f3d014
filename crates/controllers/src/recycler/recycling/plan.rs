//! The next step of a recycle and its result, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{InstanceId, RefreshPreferences, Sizes};

use crate::drain;

/// The next step of a recycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Store this, and do nothing else in the same reconcile.
    Store(Box<Recycle>),
    /// Execute this effect of the stored step.
    Do(Effect),
    /// Requeue after this time.
    Wait {
        /// How long.
        pause: Duration,
        /// What is waited for. Without times and counts, so that it changes only with the cause.
        why: String,
    },
    /// The recycle is over.
    Over,
}

/// One change, to the cloud or to Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Store this mark on the group, unless it has that of another recycle.
    Mark(String),
    /// Remove the mark from the group.
    Unmark,
    /// Set the sizes of the group.
    Resize {
        /// The expected sizes.
        from: Sizes,
        /// The new sizes.
        to: Sizes,
    },
    /// Terminate an instance; the group launches another.
    Terminate(Termination),
    /// Start an instance refresh.
    StartRefresh(RefreshPreferences),
    /// Cancel the instance refresh.
    CancelRefresh,
    /// Continue the drains of these instances' Nodes.
    Drain(Vec<(InstanceId, drain::Plan)>),
    /// Remove the annotation and the cordon of a drain from a Node.
    Release {
        /// Which Node.
        node: Meta,
        /// Whether the drain set the cordon.
        uncordon: bool,
    },
}

/// The termination of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    /// Which.
    pub instance: InstanceId,
    /// The Node that must still belong to the instance; `None` where it has none.
    pub node: Option<Arc<str>>,
    /// Whether the Node must still be cordoned.
    pub drained: bool,
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to do.
    Nothing,
    /// Done.
    Done,
    /// Skipped in a dry run.
    DryRun,
    /// The state changed since the decision; requeue.
    Outdated,
    /// It failed.
    Failed(Failure),
    /// The results of the drains.
    Drained(Vec<(InstanceId, drain::Outcome)>),
}

impl Effect {
    /// Whether it changes the cloud.
    pub fn changes_cloud(&self) -> bool {
        !matches!(self, Self::Drain(_) | Self::Release { .. })
    }

    /// Its verb in audit lines and metrics.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Mark(_) => "mark-group",
            Self::Unmark => "unmark-group",
            Self::Resize { .. } => "resize-group",
            Self::Terminate(_) => "terminate-member",
            Self::StartRefresh(_) => "start-refresh",
            Self::CancelRefresh => "cancel-refresh",
            Self::Drain(_) => "drain",
            Self::Release { .. } => "release",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(_) => f.write_str("mark the group"),
            Self::Unmark => f.write_str("unmark the group"),
            Self::Resize { from, to } => write!(f, "resize the group from {from} to {to}"),
            Self::Terminate(termination) => write!(f, "terminate {}", termination.instance),
            Self::StartRefresh(with) => {
                write!(f, "start an instance refresh, {}% healthy", with.min_healthy)
            }
            Self::CancelRefresh => f.write_str("cancel the instance refresh"),
            Self::Drain(drains) => {
                let mut between = "";
                for (instance, verdict) in drains {
                    write!(f, "{between}{instance}: {verdict}")?;
                    between = "; ";
                }
                Ok(())
            }
            Self::Release { node, .. } => write!(f, "release {}", node.key),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(recycle) => {
                write!(f, "recycle {}: {}", recycle.group, recycle.step.as_str())
            }
            Self::Do(effect) => effect.fmt(f),
            Self::Wait { why, .. } => write!(f, "wait: {why}"),
            Self::Over => f.write_str("the recycle is over"),
        }
    }
}

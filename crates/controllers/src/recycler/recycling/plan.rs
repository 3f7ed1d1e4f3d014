//! What a recycle does next, and what came of it, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_provider::node_groups::{InstanceId, RefreshPreferences, Sizes};

use crate::drain;

/// What a recycle does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Store this, and do nothing else: what follows relies on its being there.
    Store(Box<Recycle>),
    /// Do this, as it is stored. What came of it, the next look tells.
    Do(Effect),
    /// Look again after this time.
    Wait {
        /// How long.
        pause: Duration,
        /// For what, for people. Without times and counts of tries, so that it does not change while nothing changes.
        why: String,
    },
    /// Nothing: it is over.
    Over,
}

/// One change, to the cloud or to Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Store this text on the group, unless somebody else's is there.
    Mark(String),
    /// Take the text off the group.
    Unmark,
    /// Set the sizes of the group.
    Resize {
        /// What they must be before.
        from: Sizes,
        /// What they shall be.
        to: Sizes,
    },
    /// Terminate an instance; the group launches another.
    Terminate(Departure),
    /// Have AWS replace all instances.
    StartRefresh(RefreshPreferences),
    /// Stop what AWS does.
    CancelRefresh,
    /// Go on with the drains of these instances' Nodes, which do not depend on each other.
    Drain(Vec<(InstanceId, drain::Plan)>),
    /// Take back what a drain has written on a Node.
    Release {
        /// Which Node.
        node: Meta,
        /// Whether the cordon is ours.
        uncordon: bool,
    },
}

/// An instance that is to be terminated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Which.
    pub instance: InstanceId,
    /// The Node that must still be its own directly before; `None` where it has none.
    pub node: Option<Arc<str>>,
    /// Whether that Node must still be cordoned.
    pub drained: bool,
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// There was nothing to do.
    Nothing,
    /// It was done.
    Done,
    /// It was left out, because this is a dry run.
    LeftOut,
    /// Something is not as it was when this was decided: look again.
    Overtaken(String),
    /// It went wrong.
    Failed(Failure),
    /// What came of the drains.
    Drained(Vec<(InstanceId, drain::Outcome)>),
}

impl Effect {
    /// Whether the cloud is changed by it.
    pub fn changes_cloud(&self) -> bool {
        !matches!(self, Self::Drain(_) | Self::Release { .. })
    }

    /// What the audit line and the metric call it.
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
            Self::Mark(_) => f.write_str("store the plan on the group"),
            Self::Unmark => f.write_str("take the plan off the group"),
            Self::Resize { from, to } => write!(f, "set the group from {from} to {to}"),
            Self::Terminate(departure) => write!(f, "terminate {}", departure.instance),
            Self::StartRefresh(with) => {
                write!(f, "start an instance refresh, {}% healthy", with.min_healthy)
            }
            Self::CancelRefresh => f.write_str("stop the instance refresh"),
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
            Self::Over => f.write_str("nothing: it is over"),
        }
    }
}

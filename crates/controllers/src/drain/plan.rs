//! The next step of a drain and its outcome, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Failure;

use super::snapshot::Force;
use super::{Mark, Step};

/// What to read before the next step can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The Node, and other cordoned nodes.
    Node,
    /// The pods of the Node.
    Pods,
    /// Whether the DaemonSets of its pods exist.
    DaemonSets,
    /// The volumes that are attached to it.
    Volumes,
}

/// The next step of a drain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The step before the effects.
    pub step: Step,
    /// Whether, and why, the drain does not wait.
    pub force: Option<Force>,
    /// Either a cordon, on which the next reconcile depends, or pods that do not depend on each other.
    pub effects: Vec<Effect>,
    /// When to requeue after success; `None` if a watch requeues.
    pub again: Option<Duration>,
    /// The delay instead of an immediate requeue if nothing was written.
    pub pause: Duration,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Cordon and mark the Node.
    Cordon(Mark),
    /// Evict a pod.
    Evict(Removal),
    /// Delete a pod regardless of its disruption budget.
    Delete(Removal),
}

/// A pod to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Its key.
    pub pod: ObjectKey,
    /// The precondition.
    pub uid: Uid,
    /// The grace period in seconds, if not its own.
    pub grace: Option<u32>,
}

/// The outcome of the effects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The outcome of the cordon, if there was one.
    pub cordon: Option<CordonOutcome>,
    /// Uids of evicted pods.
    pub accepted: Vec<Uid>,
    /// Uids of pods whose eviction was refused, and why.
    pub refused: Vec<(Uid, Failure)>,
    /// Whether anything was written.
    pub wrote: bool,
}

/// The outcome of a cordon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CordonOutcome {
    /// The Node is cordoned.
    Cordoned,
    /// Dry run: nothing was written.
    DryRun,
    /// Another control-plane node was cordoned in the meantime.
    Blocked(Vec<Arc<str>>),
    /// It could not be written.
    Failed(Failure),
}

impl Plan {
    /// At `step`, with nothing to do.
    pub(super) fn at(step: Step, again: Option<Duration>) -> Self {
        Self { step, force: None, effects: Vec::new(), again, pause: Duration::ZERO }
    }

    /// When to requeue. Without a write, an immediate requeue would be a loop.
    pub fn again(&self, outcome: &Outcome) -> Option<Duration> {
        let pause = if outcome.wrote { Duration::ZERO } else { self.pause };
        self.again.map(|again| if again.is_zero() { pause } else { again })
    }

    /// Whether the drain is over.
    pub fn is_done(&self) -> bool {
        self.step.is_done()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drain: {}", self.step.as_str())?;
        let count = |wanted: fn(&Effect) -> bool| self.effects.iter().filter(|e| wanted(e)).count();
        if count(|effect| matches!(effect, Effect::Cordon(_))) > 0 {
            f.write_str(", cordon the node")?;
        }
        match count(|effect| matches!(effect, Effect::Evict(_))) {
            0 => {}
            pods => write!(f, ", evict {pods} pods")?,
        }
        match count(|effect| matches!(effect, Effect::Delete(_))) {
            0 => Ok(()),
            pods => write!(f, ", delete {pods} pods"),
        }
    }
}

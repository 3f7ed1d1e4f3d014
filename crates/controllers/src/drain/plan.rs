//! The next step of a drain and its outcome, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Failure;

use super::snapshot::Force;
use super::{Mark, Step};

/// What is read for a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    Node,
    Pods,
    DaemonSets,
    Volumes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub step: Step,
    pub force: Option<Force>,
    /// What must be read before this step is certain.
    pub missing: Option<Query>,
    /// Either a cordon, on which the next reconcile depends, or pods that do not depend on each other.
    pub effects: Vec<Effect>,
    /// When to requeue after success; `None` if a watch requeues.
    pub again: Option<Duration>,
    /// The delay instead of an immediate requeue if nothing was written.
    pub pause: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Cordon(Mark),
    Evict(Removal),
    /// Delete a pod regardless of its disruption budget.
    Delete(Removal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub pod: ObjectKey,
    pub uid: Uid,
    /// The grace period in seconds, if not its own.
    pub grace: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    pub cordon: Option<CordonOutcome>,
    pub accepted: Vec<Uid>,
    pub refused: Vec<(Uid, Failure)>,
    pub wrote: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CordonOutcome {
    Cordoned,
    DryRun,
    /// Other control-plane nodes were cordoned in the meantime.
    Blocked(Vec<Arc<str>>),
    Failed(Failure),
}

impl Plan {
    pub(super) fn at(step: Step, again: Option<Duration>) -> Self {
        let (effects, pause) = (Vec::new(), Duration::ZERO);
        Self { step, force: None, missing: None, effects, again, pause }
    }

    pub(super) fn missing(query: Query, again: Duration) -> Self {
        Self { missing: Some(query), ..Self::at(Step::CannotLook, Some(again)) }
    }

    /// When to requeue. Without a write, an immediate requeue would be a loop.
    pub fn again(&self, outcome: &Outcome) -> Option<Duration> {
        let pause = if outcome.wrote { Duration::ZERO } else { self.pause };
        self.again.map(|again| if again.is_zero() { pause } else { again })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.step.is_done()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut cordon, mut evicted, mut deleted) = ("", 0, 0);
        for effect in &self.effects {
            match effect {
                Effect::Cordon(_) => cordon = ", cordon the node",
                Effect::Evict(_) => evicted += 1,
                Effect::Delete(_) => deleted += 1,
            }
        }
        write!(f, "drain: {}{cordon}", self.step.as_str())?;
        for (verb, pods) in [("evict", evicted), ("delete", deleted)] {
            if pods > 0 {
                write!(f, ", {verb} {pods} pods")?;
            }
        }
        Ok(())
    }
}

//! What a drain does next, and what came of it, as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Mark, Step};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Failure;

use super::snapshot::Force;

/// What to look at before anything can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The Node, and who else is cordoned.
    Node,
    /// The pods of the Node.
    Pods,
    /// Whether the DaemonSets of its pods exist.
    DaemonSets,
    /// The volumes that are attached to it.
    Volumes,
}

/// What a drain does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where the drain is, as far as it is known before anything was done.
    pub step: Step,
    /// Whether, and why, nobody is waited for.
    pub force: Option<Force>,
    /// What to do now. There is either a cordon on which the next pass depends, or pods that do not depend on each other.
    pub effects: Vec<Effect>,
    /// When to come back if everything went well; `None` where a change of the machine or its Node will bring us back.
    pub again: Option<Duration>,
    /// What "at once" means where nothing came of it.
    pub pause: Duration,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Keep new pods away from the Node, and write down when that was.
    Cordon(Mark),
    /// Ask for a pod to be evicted.
    Evict(Removal),
    /// Delete a pod, whatever its budget says.
    Delete(Removal),
}

/// A pod to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Which.
    pub pod: ObjectKey,
    /// And no other of the same name.
    pub uid: Uid,
    /// How much grace it gets, in seconds, if not its own.
    pub grace: Option<u32>,
}

/// What came of the effects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What came of the cordon, if there was to be one.
    pub cordon: Option<CordonOutcome>,
    /// Pods that are on their way, by uid.
    pub accepted: Vec<Uid>,
    /// Pods that did not go, by uid, and why.
    pub refused: Vec<(Uid, Failure)>,
    /// Whether anything was written.
    pub wrote: bool,
}

/// What came of a cordon.
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

    /// When to come back. "At once" is only for those who got something done: what cannot be written now must not become a loop.
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

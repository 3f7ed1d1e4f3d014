use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Failure;

use super::snapshot::Force;
use super::{Mark, Step};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub step: Step,
    pub force: Option<Force>,
    pub cordon: Option<Mark>,
    /// Evict these pods; delete them, regardless of disruption budgets, if the drain is forced.
    pub pods: Vec<Removal>,
    /// When to requeue after success; `None` if a watch requeues.
    pub again: Option<Duration>,
    /// The delay instead of an immediate requeue if nothing was written.
    pub pause: Duration,
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
        let pause = Duration::ZERO;
        Self { step, force: None, cordon: None, pods: Vec::new(), again, pause }
    }

    /// When to requeue. Without a write, an immediate requeue would be a loop.
    pub fn again(&self, outcome: &Outcome) -> Option<Duration> {
        let cordoned = outcome.cordon == Some(CordonOutcome::Cordoned);
        let wrote = cordoned || !outcome.accepted.is_empty();
        let pause = if wrote { Duration::ZERO } else { self.pause };
        self.again.map(|again| if again.is_zero() { pause } else { again })
    }

    pub(crate) fn has_effects(&self) -> bool {
        self.cordon.is_some() || !self.pods.is_empty()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.step.is_done()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cordon = if self.cordon.is_some() { ", cordon the node" } else { "" };
        write!(f, "drain: {}{cordon}", self.step.as_str())?;
        let verb = if self.force.is_some() { "delete" } else { "evict" };
        match self.pods.len() {
            0 => Ok(()),
            pods => write!(f, ", {verb} {pods} pods"),
        }
    }
}

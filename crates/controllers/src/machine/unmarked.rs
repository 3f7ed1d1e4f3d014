//! Nodes whose marks of a preservation could not be written. Their Machines go on without them, and they are tried
//! again with growing pauses. It can all be lost: that costs a request.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{Uid, Version};
use machinist_domain::retry::Failure;
use machinist_runtime::clock::SharedClock;

use crate::machine_set::memory::{FailedClaim, MEMORY, Remembered, skips_machine};

/// Why a Node has not the marks that it should have, and after which time it is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmarked {
    pub wait: Duration,
    pub why: Arc<str>,
}

#[derive(Debug)]
pub(super) struct UnmarkedNodes {
    failed: Remembered<FailedClaim>,
    clock: SharedClock,
    poll: Duration,
}

impl UnmarkedNodes {
    pub(super) fn new(clock: SharedClock, poll: Duration) -> Self {
        Self { failed: Remembered::default(), clock, poll }
    }

    /// Failures that end by themselves are not remembered: the same write is tried again.
    pub(super) fn failed(&self, node: &Uid, failure: &Failure) {
        if !skips_machine(failure.category) {
            return;
        }
        let (now, why) = (self.clock.uptime(), failure.message.as_str().into());
        let mut all = self.failed.lock();
        // Of any version: kubelets change their Nodes all the time.
        let failed =
            FailedClaim::after(all.get(node, now), Version::default(), why, now, self.poll);
        all.insert(node.clone(), failed, now, MEMORY);
    }

    pub(super) fn written(&self, node: &Uid) {
        self.failed.lock().remove(node);
    }

    pub(super) fn of(&self, node: &Uid) -> Option<Unmarked> {
        let now = self.clock.uptime();
        let failed = self.failed.lock().get(node, now).cloned();
        let failed = failed.filter(|failed| failed.skips(Version::default(), now))?;
        Some(Unmarked { wait: failed.retry_at.saturating_sub(now), why: failed.cause })
    }
}

//! The pause of one failure domain: how long it lasts, whether somebody tries for all, and who waits. Who is in the domain is not known here.

use std::collections::BTreeMap;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::cloud::CloudError;

use super::{Gate, Kin};

/// A pause, and the memory of it once it is over.
pub(super) struct Pause {
    pub(super) failures: u32,
    pub(super) until: Duration,
    /// Somebody tries, and is given until then.
    pub(super) trying_until: Option<Duration>,
    pub(super) why: Failure,
    /// Who waits.
    pub(super) waiting: BTreeMap<ObjectKey, Waiter>,
}

/// Somebody who waits.
pub(super) struct Waiter {
    pub(super) kin: Kin,
    /// Until when they are expected back.
    pub(super) back: Duration,
}

impl Pause {
    pub(super) fn new(error: &CloudError) -> Self {
        Self {
            failures: 0,
            until: Duration::ZERO,
            trying_until: None,
            why: error.failure(),
            waiting: BTreeMap::new(),
        }
    }

    /// Whether it ended so long ago that it says nothing about the next call.
    pub(super) fn is_over(&self, now: Duration, memory: Duration) -> bool {
        let until = self.trying_until.map_or(self.until, |trying| trying.max(self.until));
        self.failures > 0 && now >= until.saturating_add(memory)
    }

    /// If somebody tried for all, nothing was learned about what they wait for.
    pub(super) fn let_another_try(&mut self, earliest: Duration) {
        if self.trying_until.take().is_some() {
            self.until = self.until.max(earliest);
        }
    }

    pub(super) fn join(&mut self, key: &ObjectKey, kin: Kin, now: Duration) {
        let wait = match self.gate(now) {
            Gate::Open => Duration::ZERO,
            Gate::Closed { wait, .. } => wait,
        };
        self.waiting.insert(key.clone(), Waiter { kin, back: now + wait });
    }

    pub(super) fn gate(&self, now: Duration) -> Gate {
        let until = match self.trying_until {
            // Whoever tries wakes the others, or lets the next one try.
            Some(trying) if now >= self.until => trying,
            _ => self.until,
        };
        match until.checked_sub(now).filter(|wait| !wait.is_zero()) {
            None => Gate::Open,
            Some(wait) => Gate::Closed { wait, why: self.why.clone() },
        }
    }
}

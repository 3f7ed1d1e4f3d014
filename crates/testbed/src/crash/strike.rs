//! A fault that waits for its point, and what goes with it once it has struck.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::{CrashPoint, Fault, Scenario, Subject, lens::Lens, supervisor::Supervisor};
use crate::World;
use crate::faults::{Effect, Gate, Match, Rule, RuleHandle};
use crate::poll;

/// A late write lands at the latest after this time, even if the subject writes nothing.
const LATEST: Duration = Duration::from_secs(2);

/// How many reads fail, and how.
const fn failing_reads() -> [(u32, Effect); 3] {
    [(2, Effect::answer(500)), (2, Effect::too_many_requests(1)), (1, Effect::Timeout)]
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    pub point: CrashPoint,
    pub fault: Fault,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.point, self.fault)
    }
}

pub(super) struct Armed {
    fault: Fault,
    gate: Gate,
    rule: RuleHandle,
}

impl Strike {
    pub(super) fn arm<C: Scenario>(&self, world: &World, lens: &Arc<Lens<C>>) -> Armed {
        let (gate, fault) = (Gate::new(), self.fault);
        let trap = Rule::new(lens.trap(&self.point), fault.effect(&gate));
        let rule = world.proxy.add_rule(trap.skip(self.point.nth - 1).times(1));
        if fault == Fault::FailReads {
            for (times, effect) in failing_reads() {
                let (lens, hits) = (Arc::clone(lens), rule.watch());
                let reads = Match::any().that(move |read| *hits.borrow() > 0 && lens.reads(read));
                world.proxy.add_rule(Rule::new(reads, effect).times(times));
            }
        }
        Armed { fault, gate, rule }
    }
}

impl Armed {
    pub(super) fn has_struck(&self) -> bool {
        self.rule.hits() > 0
    }

    pub(super) fn has_killed(&self) -> bool {
        self.fault.is_deadly() && self.has_struck()
    }

    /// Returns when all that goes with the fault has happened.
    pub(super) async fn strike<S: Subject, C: Scenario>(
        &self,
        world: &World,
        scenario: &C,
        lens: &Lens<C>,
        supervisor: &Supervisor<'_, S>,
    ) -> Result<()> {
        let meanwhile = scenario.meanwhile(world);
        if self.fault.is_deadly() {
            self.gate.reached().await;
            supervisor.restart(meanwhile).await?;
        } else {
            self.rule.struck().await;
            meanwhile.await?;
        }
        if self.fault == Fault::FailReads {
            // Watches start again, which fails.
            world.proxy.cut_connections();
        }
        if self.fault.lands_late() {
            self.land(world, lens).await;
        }
        Ok(())
    }

    async fn land<C: Scenario>(&self, world: &World, lens: &Lens<C>) {
        let log = world.proxy.log();
        let since = log.now();
        let written = || async {
            let entries = log.entries();
            let mut later = entries.iter().filter(|entry| entry.at > since && entry.took.is_some());
            anyhow::ensure!(later.any(|entry| lens.counts(&entry.request)), "it wrote nothing");
            Ok(())
        };
        if let Err(error) = poll::eventually(LATEST, "the next write", written).await {
            tracing::debug!(%error, "the write lands now");
        }
        self.gate.open();
    }
}

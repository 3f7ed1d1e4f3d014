//! A fault that waits for its point, and what goes with it once it has struck.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{CrashPoint, Fault, Scenario, Subject, lens::Lens, supervisor::Supervisor};
use crate::World;
use crate::faults::{Effect, Gate, LogEntry, Match, RequestLog, Rule, RuleHandle};
use crate::poll;

/// A late write lands at the latest after this time, even if the subject writes nothing. That of a dead subject: this
/// long after the first request of its successor.
const LATEST: Duration = Duration::from_secs(2);

/// How long a successor may take until its first request; on a busy machine it starts slowly.
const START: Duration = Duration::from_secs(20);

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
        let log = world.proxy.log();
        let mut since = Duration::ZERO;
        let meanwhile = async {
            since = log.now();
            scenario.meanwhile(world).await
        };
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
            self.land(&log, since, lens).await;
        }
        Ok(())
    }

    /// Lets the write land after the first write that came in after `since` and has ended.
    async fn land<C: Scenario>(&self, log: &RequestLog, since: Duration, lens: &Lens<C>) {
        let any = |wanted: fn(&Lens<C>, &LogEntry) -> bool| {
            log.entries().iter().any(|entry| entry.at > since && wanted(lens, entry))
        };
        let awake = async || {
            ensure!(any(|lens, entry| lens.is_ours(&entry.request)), "it has not asked anything");
            Ok(())
        };
        let written = async || {
            let ended = |lens: &Lens<C>, entry: &LogEntry| {
                entry.took.is_some() && lens.counts(&entry.request)
            };
            ensure!(any(ended), "it wrote nothing");
            Ok(())
        };
        let mut waited = Ok(());
        if self.fault.is_deadly() {
            waited = poll::eventually(START, "the first request of the successor", awake).await;
        }
        let waited = waited.and(poll::eventually(LATEST, "the next write", written).await);
        if let Err(error) = waited {
            tracing::debug!(%error, "the write lands now");
        }
        self.gate.open();
    }
}

//! A disturbed run passes only if its point was met, every step of the scenario came true, the end state is the
//! expected one while the subject is quiet, and the subject is still alive.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Error, Result, bail, ensure};
use serde_json::Value;

use super::{
    CrashPoint, Difference, Fault, Scenario, Subject, diff, lens::Lens, supervisor::Supervisor,
};
use crate::World;
use crate::faults::{ApiRequest, Gate, Rule};

/// From the kill until there is a fresh instance.
const DEATH: Duration = Duration::from_secs(20);

/// How many times longer than others an undisturbed run is watched before it counts as settled.
const LEARNING: u32 = 5;

pub(super) struct Learned {
    pub(super) points: Vec<CrashPoint>,
    pub(super) end: Value,
}

pub(super) enum TrialResult {
    Equal,
    /// The fault found no occasion: nothing is proven.
    Unmet,
    Differs(Box<Difference>),
}

pub(super) struct Trial<'a, S, C> {
    pub(super) subject: &'a S,
    pub(super) scenario: &'a C,
    pub(super) lens: Arc<Lens<C>>,
    pub(super) settle: Duration,
    pub(super) world: World,
}

impl<S: Subject, C: Scenario> Trial<'_, S, C> {
    pub(super) async fn undisturbed(self) -> Result<Learned> {
        self.scenario.prepare(&self.world);
        let supervisor = Supervisor::start(self.subject, self.world.launch()).await?;
        self.scenario.run(&self.world).await?;
        let check = || async { self.ensure_settled() };
        self.world.eventually("the subject to stop writing", check).await?;
        let end = self.scenario.end_state(&self.world).await?;
        if let Some(ending) = supervisor.stop().await? {
            bail!("{ending}");
        }
        let points = self.lens.points(&self.world);
        tracing::info!(scenario = self.scenario.name(), points = points.len(), "learned");
        Ok(Learned { points, end })
    }

    pub(super) async fn disturbed(
        self,
        point: &CrashPoint,
        fault: Fault,
        undisturbed: &Value,
    ) -> Result<TrialResult> {
        let start = Instant::now();
        let gate = Gate::new();
        let rule = Rule::new(self.lens.trap(point), fault.effect(&gate)).skip(point.nth - 1);
        let rule = self.world.proxy.add_rule(rule.times(1));
        self.scenario.prepare(&self.world);
        let supervisor = Supervisor::start(self.subject, self.world.launch()).await?;
        let story = async {
            let ran = self.scenario.run(&self.world).await;
            // The point may lie behind the last thing that the scenario waits for, but not behind the end.
            let ended = self.ensure_end(undisturbed).await;
            if rule.hits() == 0 || !fault.is_deadly() {
                return (ran, rule.hits() > 0, ended);
            }
            let met = Self::has_died(&supervisor).await;
            (ran, met, self.ensure_end(undisturbed).await)
        };
        let strike = async {
            let meanwhile = self.scenario.meanwhile(&self.world);
            let done = if fault.is_deadly() {
                gate.reached().await;
                supervisor.restart(meanwhile).await
            } else {
                rule.struck().await;
                meanwhile.await
            };
            match done {
                Ok(()) => std::future::pending().await,
                Err(error) => error,
            }
        };
        let (ran, met, ended) = tokio::select! {
            story = story => story,
            error = strike => return Err(error.context("what goes with the fault")),
        };
        let ending = supervisor.stop().await?.map(Error::msg);
        let problems: Vec<String> = [ran.err(), ended.err(), ending]
            .into_iter()
            .flatten()
            .map(|problem| format!("{problem:#}"))
            .collect();
        tracing::info!(%point, %fault, met, ?problems, took = ?start.elapsed(), "tried");
        if problems.is_empty() {
            return Ok(if met { TrialResult::Equal } else { TrialResult::Unmet });
        }
        let end = self.scenario.end_state(&self.world).await?;
        Ok(TrialResult::Differs(Box::new(Difference {
            point: point.clone(),
            fault,
            problems,
            diff: diff::unified(undisturbed, &end),
            writes: self.lens.trace(&self.world),
            duration: start.elapsed(),
        })))
    }

    /// False if the sender gave up before its write came to the gate. No write is under way any more when this is
    /// asked, so a death has begun or never will.
    async fn has_died(supervisor: &Supervisor<'_, S>) -> bool {
        tokio::time::timeout(DEATH, supervisor.restarted()).await.is_ok()
    }

    async fn ensure_end(&self, expected: &Value) -> Result<()> {
        let check = || async {
            self.ensure_quiet()?;
            let end = self.scenario.end_state(&self.world).await?;
            ensure!(end == *expected, "it differs");
            // A write may have come in while the state was read.
            self.ensure_quiet()
        };
        self.world.eventually("the end state of the undisturbed run", check).await
    }

    fn ensure_quiet(&self) -> Result<()> {
        self.ensure_quiet_for(self.settle, |request| self.lens.counts(request))
    }

    /// A subject that waits for a core must not pass for a settled one. Leases, renewed for ever, do not count.
    fn ensure_settled(&self) -> Result<()> {
        let counts =
            |request: &ApiRequest| self.lens.counts(request) && request.resource != "leases";
        self.ensure_quiet_for(self.settle * LEARNING, counts)
    }

    fn ensure_quiet_for(&self, time: Duration, counts: impl Fn(&ApiRequest) -> bool) -> Result<()> {
        match self.world.quiet_for(counts) {
            None => bail!("a write of the subject is still under way"),
            Some(quiet) if quiet < time => bail!("the subject wrote {quiet:?} ago"),
            Some(_) => Ok(()),
        }
    }
}

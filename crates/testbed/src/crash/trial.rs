//! A disturbed run passes only if its point was met, every step of the scenario came true, the end state is the
//! expected one while the subject is quiet, and the subject is still alive.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Error, Result, bail, ensure};
use futures::{FutureExt, future};
use serde_json::Value;

use super::milestone::Expected;
use super::strike::{Armed, Strike};
use super::{CrashPoint, Difference, Scenario, Subject, diff, lens::Lens, supervisor::Supervisor};
use crate::World;
use crate::faults::ApiRequest;

/// From the kill until there is a fresh instance.
const DEATH: Duration = Duration::from_secs(20);

/// How many times longer than others an undisturbed run is watched before it counts as settled.
const LEARNING: u32 = 5;

pub(super) struct Learned {
    pub(super) points: Vec<CrashPoint>,
    /// Writes that the second run made less often.
    pub(super) dropped: Vec<CrashPoint>,
    pub(super) end: Value,
    pub(super) milestones: Arc<Expected>,
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
        let milestones = Arc::new(self.world.milestones.recorded());
        self.world.clear().await?;
        Ok(Learned { points, dropped: Vec::new(), end, milestones })
    }

    /// Of several strikes only the first must be met: it may change how often a later write is made.
    pub(super) async fn disturbed(
        self,
        strikes: &[Strike],
        undisturbed: &Value,
    ) -> Result<TrialResult> {
        let start = Instant::now();
        let armed: Vec<Armed> =
            strikes.iter().map(|strike| strike.arm(&self.world, &self.lens)).collect();
        self.scenario.prepare(&self.world);
        let supervisor = Supervisor::start(self.subject, self.world.launch()).await?;
        let story = async {
            let ran = self.scenario.run(&self.world).await;
            // The point may lie behind the last thing that the scenario waits for, but not behind the end.
            let ended = self.ensure_end(undisturbed).await;
            let deaths = armed.iter().filter(|armed| armed.has_killed()).count();
            let met = armed.first().is_some_and(Armed::has_struck);
            if deaths == 0 {
                return (ran, met, ended);
            }
            let died = Self::have_died(&supervisor, deaths).await;
            (ran, met && died, self.ensure_end(undisturbed).await)
        };
        let (world, lens) = (&self.world, &*self.lens);
        let strike = armed.iter().map(|armed| {
            let done = armed.strike(world, self.scenario, lens, &supervisor);
            done.then(|done| async move {
                match done {
                    Ok(()) => future::pending().await,
                    Err(error) => error,
                }
            })
            .boxed_local()
        });
        let (ran, met, ended) = tokio::select! {
            story = story => story,
            (error, ..) = future::select_all(strike) => {
                return Err(error.context("what goes with the fault"));
            }
        };
        let ending = supervisor.stop().await?.map(Error::msg);
        let problems: Vec<String> = [ran.err(), ended.err(), ending]
            .into_iter()
            .flatten()
            .map(|problem| format!("{problem:#}"))
            .collect();
        let took = start.elapsed();
        for Strike { point, fault } in strikes {
            tracing::info!(%point, %fault, met, ?problems, ?took, "tried");
        }
        if problems.is_empty() {
            self.world.clear().await?;
            return Ok(if met { TrialResult::Equal } else { TrialResult::Unmet });
        }
        let end = self.scenario.end_state(&self.world).await?;
        Ok(TrialResult::Differs(Box::new(Difference {
            strikes: strikes.to_vec(),
            problems,
            diff: diff::unified(undisturbed, &end),
            writes: self.lens.trace(&self.world),
            duration: took,
        })))
    }

    /// False if the sender gave up before its write came to the gate. No write is under way any more when this is
    /// asked, so a death has begun or never will.
    async fn have_died(supervisor: &Supervisor<'_, S>, deaths: usize) -> bool {
        let deaths = u32::try_from(deaths).unwrap_or(u32::MAX);
        tokio::time::timeout(DEATH, supervisor.restarted(deaths)).await.is_ok()
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

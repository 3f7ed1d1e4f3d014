use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    CrashPoint, Fault, Report, Sample, Scenario, Subject, diff,
    lens::Lens,
    motos::Motos,
    trial::{Learned, Trial, TrialResult},
};
use crate::World;

/// Runs that a fault gets to find its point.
const OCCASIONS: usize = 3;

#[derive(Debug, Clone)]
pub struct Options {
    pub faults: Vec<Fault>,
    pub sample: Sample,
    /// On each API server. Where kinds are cluster-scoped, use 1, or a [`Scenario::prepare`] that keeps them apart.
    pub parallel: usize,
    /// Of one run, recovery included.
    pub deadline: Duration,
    /// A world is settled when the subject has not written for this long.
    pub settle: Duration,
    /// The prefix by which the subject's requests are known.
    pub user_agents: String,
    /// Whether writes to Leases are crash points, too.
    pub leases: bool,
    /// How much faster than real time the clock of the simulated cloud goes.
    pub cloud: Option<f64>,
    pub aws: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            faults: Fault::ALL.to_vec(),
            sample: Sample::All,
            parallel: 4,
            deadline: Duration::from_mins(1),
            settle: Duration::from_millis(300),
            user_agents: "machinist-".to_owned(),
            leases: false,
            cloud: None,
            aws: false,
        }
    }
}

#[derive(Debug)]
pub struct Harness<S, C> {
    subject: S,
    scenario: Arc<C>,
    api_servers: Vec<kube::Config>,
    options: Options,
    places: usize,
    motos: Motos,
}

impl<S: Subject, C: Scenario> Harness<S, C> {
    /// The API servers are reached with the given (admin) identity.
    pub fn new(subject: S, scenario: C, api_servers: Vec<kube::Config>, options: Options) -> Self {
        let places = options.parallel.max(1) * api_servers.len();
        let (scenario, motos) = (Arc::new(scenario), Motos::new(places));
        Self { subject, scenario, api_servers, options, places, motos }
    }

    /// An error means that nothing could be tried.
    pub async fn run(&self) -> Result<Report> {
        let start = Instant::now();
        let Learned { points, end } = self.learn().await?;
        let faults = &self.options.faults;
        let pairs = self.options.sample.pairs(points.len(), faults.len());
        let runs = pairs.len();
        let free: Mutex<Vec<usize>> = Mutex::new((0..self.places).collect());
        let mut results: Vec<_> = stream::iter(pairs)
            .map(|pair| {
                let (point, fault) = (&points[pair.0], faults[pair.1]);
                let (free, end) = (&free, &end);
                async move {
                    // There are never more runs under way than places.
                    let place = free.lock().pop().unwrap_or_default();
                    let result = self.disturbed(place, point, fault, end).await;
                    free.lock().push(place);
                    anyhow::Ok((pair, result.with_context(|| format!("{point}: {fault}"))?))
                }
            })
            .buffer_unordered(self.places)
            .try_collect()
            .await?;
        results.sort_by_key(|(pair, _)| *pair);
        let (mut differences, mut unmet) = (Vec::new(), Vec::new());
        for ((point, fault), result) in results {
            match result {
                TrialResult::Equal => {}
                TrialResult::Unmet => unmet.push((points[point].clone(), faults[fault])),
                TrialResult::Differs(difference) => differences.push(*difference),
            }
        }
        Ok(Report {
            scenario: self.scenario.name().to_owned(),
            faults: faults.clone(),
            points,
            runs,
            differences,
            unmet,
            duration: start.elapsed(),
        })
    }

    /// How often a write is made can depend on who is faster: a run in which the fault found no occasion is repeated.
    async fn disturbed(
        &self,
        place: usize,
        point: &CrashPoint,
        fault: Fault,
        end: &Value,
    ) -> Result<TrialResult> {
        for _ in 1..OCCASIONS {
            match self.trial(place).await?.disturbed(point, fault, end).await? {
                TrialResult::Unmet => tracing::warn!(%point, %fault, "not met, once more"),
                result => return Ok(result),
            }
        }
        self.trial(place).await?.disturbed(point, fault, end).await
    }

    pub async fn points(&self) -> Result<Vec<CrashPoint>> {
        Ok(self.learn().await?.points)
    }

    /// Twice: a scenario that differs from itself shows nothing, and what only one run has repeated depends on timing.
    async fn learn(&self) -> Result<Learned> {
        ensure!(!self.api_servers.is_empty(), "the harness needs an API server");
        let undisturbed = async || self.trial(0).await?.undisturbed().await;
        let mut first = undisturbed().await.context("the first undisturbed run")?;
        let second = undisturbed().await.context("the second undisturbed run")?;
        if first.end != second.end {
            let diff = diff::unified(&first.end, &second.end);
            bail!("two undisturbed runs of {} differ:\n{diff}", self.scenario.name());
        }
        first.points = CrashPoint::made_as_often_by(first.points, &second.points);
        ensure!(
            !first.points.is_empty(),
            "no writes by user agents {:?}*: nothing to disturb",
            self.options.user_agents
        );
        Ok(first)
    }

    async fn trial(&self, place: usize) -> Result<Trial<'_, S, C>> {
        let api_server = &self.api_servers[place % self.api_servers.len()];
        // Before the world's time begins.
        let moto = if self.options.aws { Some(self.motos.emptied(place).await?) } else { None };
        let world = World::new(api_server, self.scenario.name()).await?;
        let world = world.within(self.options.deadline);
        let world = match self.options.cloud {
            None => world,
            Some(scale) => world.with_cloud(scale).await?,
        };
        let world = match moto {
            None => world,
            Some(moto) => world.with_aws(moto).await?,
        };
        Ok(Trial {
            subject: &self.subject,
            scenario: &self.scenario,
            lens: Lens::new(Arc::clone(&self.scenario), &self.options),
            settle: self.options.settle,
            world,
        })
    }
}

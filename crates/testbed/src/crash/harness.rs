use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use serde_json::json;

use super::{
    CrashPoint, Fault, Milestones, Report, Sample, Scenario, Strike, Subject, diff,
    lens::Lens,
    milestone,
    motos::Motos,
    sample::Pair,
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
    /// Whether there are runs with two faults, too.
    pub doubles: bool,
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
            doubles: true,
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
        let learned = self.learn().await?;
        let runs = self.runs(&learned.points);
        let doubles = runs.iter().filter(|strikes| strikes.len() > 1).count();
        let singles = runs.len() - doubles;
        let free: Mutex<Vec<usize>> = Mutex::new((0..self.places).collect());
        let mut results: Vec<_> = stream::iter(runs.into_iter().enumerate())
            .map(|(number, strikes)| {
                let (free, learned) = (&free, &learned);
                async move {
                    // There are never more runs under way than places.
                    let place = free.lock().pop().unwrap_or_default();
                    let result = self.disturbed(place, &strikes, learned).await;
                    free.lock().push(place);
                    let result = result.with_context(|| strikes[0].to_string())?;
                    anyhow::Ok((number, strikes, result))
                }
            })
            .buffer_unordered(self.places)
            .try_collect()
            .await?;
        results.sort_by_key(|(number, ..)| *number);
        let (mut differences, mut unmet) = (Vec::new(), Vec::new());
        for (_, strikes, result) in results {
            match result {
                TrialResult::Equal => {}
                TrialResult::Unmet => unmet.extend(strikes.into_iter().take(1)),
                TrialResult::Differs(difference) => differences.push(*difference),
            }
        }
        Ok(Report {
            scenario: self.scenario.name().to_owned(),
            faults: self.options.faults.clone(),
            points: learned.points,
            dropped: learned.dropped,
            runs: singles,
            doubles,
            differences,
            unmet,
            duration: start.elapsed(),
        })
    }

    fn runs(&self, points: &[CrashPoint]) -> Vec<Vec<Strike>> {
        let mut faults = self.options.faults.clone();
        faults.sort_by_key(|fault| fault.is_rare());
        let rare = faults.iter().position(|fault| fault.is_rare()).unwrap_or(faults.len());
        let strike = |(point, fault): Pair| {
            let (point, fault): (&CrashPoint, _) = (&points[point], faults[fault]);
            Strike { point: point.clone(), fault }
        };
        let sample = self.options.sample;
        let singles = sample.pairs(points.len(), faults.len(), rare).into_iter();
        let mut runs: Vec<_> = singles.map(|pair| vec![strike(pair)]).collect();
        if self.options.doubles {
            let doubles = sample.doubles(points.len(), faults.len()).into_iter();
            runs.extend(doubles.map(|pairs| pairs.map(strike).to_vec()));
        }
        runs
    }

    /// How often a write is made can depend on who is faster: a run in which the fault found no occasion is repeated.
    async fn disturbed(
        &self,
        place: usize,
        strikes: &[Strike],
        learned: &Learned,
    ) -> Result<TrialResult> {
        for _ in 1..OCCASIONS {
            match self.try_once(place, strikes, learned).await? {
                TrialResult::Unmet => tracing::warn!(strike = %strikes[0], "not met, once more"),
                result => return Ok(result),
            }
        }
        self.try_once(place, strikes, learned).await
    }

    async fn try_once(
        &self,
        place: usize,
        strikes: &[Strike],
        learned: &Learned,
    ) -> Result<TrialResult> {
        // A fault that kills nothing and disturbs one write may lose one Event.
        let harmless = |fault: Fault| !fault.is_deadly() && !fault.is_rare();
        let may_be_lost = match strikes {
            [Strike { fault, .. }] if harmless(*fault) => 1,
            _ => usize::MAX,
        };
        let milestones = Milestones::compare(&learned.milestones, may_be_lost);
        let trial = self.trial(place, milestones).await?;
        trial.disturbed(strikes, &learned.end).await
    }

    pub async fn points(&self) -> Result<Vec<CrashPoint>> {
        Ok(self.learn().await?.points)
    }

    /// Twice: a scenario that differs from itself shows nothing, and what only one run has repeated depends on timing.
    async fn learn(&self) -> Result<Learned> {
        ensure!(!self.api_servers.is_empty(), "the harness needs an API server");
        let undisturbed = async || {
            let milestones = Milestones::record(self.options.settle * 2);
            self.trial(0, milestones).await?.undisturbed().await
        };
        let mut first = undisturbed().await.context("the first undisturbed run")?;
        let second = undisturbed().await.context("the second undisturbed run")?;
        let all = |learned: &Learned| {
            let milestones = milestone::as_json(&learned.milestones);
            json!({"end": learned.end, "milestones": milestones})
        };
        let diff = diff::unified(&all(&first), &all(&second));
        ensure!(
            diff.is_empty(),
            "two undisturbed runs of {} differ:\n{diff}",
            self.scenario.name()
        );
        (first.points, first.dropped) = CrashPoint::made_as_often_by(first.points, &second.points);
        ensure!(
            !first.points.is_empty(),
            "no writes by user agents {:?}*: nothing to disturb",
            self.options.user_agents
        );
        Ok(first)
    }

    async fn trial(&self, place: usize, milestones: Milestones) -> Result<Trial<'_, S, C>> {
        let api_server = &self.api_servers[place % self.api_servers.len()];
        // Before the world's time begins.
        let moto = if self.options.aws { Some(self.motos.emptied(place).await?) } else { None };
        let world = World::new(api_server, self.scenario.name()).await?;
        let world = world.within(self.options.deadline).with_milestones(milestones);
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

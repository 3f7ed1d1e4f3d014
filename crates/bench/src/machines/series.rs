//! Raw, ours, raw, ours, raw, so that a machine that gets slower or faster meanwhile does so for both.

use std::sync::Arc;

use anyhow::{Context, Result};

use super::live::{Change, Live, Run, Work};
use super::recording::Recording;
use super::replay::replay;
use super::sets::Owner;
use super::stage::Audit;
use crate::Options;
use crate::statistics::Comparison;

/// Requests of the bare client under way; the best of these is the limit.
const CONCURRENCIES: [usize; 3] = [8, 32, 64];

#[derive(Debug)]
pub(super) struct Series {
    pub(super) machines: usize,
    pub(super) times: Comparison,
    pub(super) runs: Vec<Run>,
    pub(super) removals: Vec<Change>,
    pub(super) rolls: Vec<Change>,
    pub(super) idle_requests: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Plan<'a> {
    options: &'a Options,
    owner: Owner,
    per_set: usize,
    /// The best one, once it is known.
    pub(super) concurrency: Option<usize>,
    recorded: Option<(Work, Arc<Recording>)>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(options: &'a Options, owner: Owner, per_set: usize) -> Self {
        Self { options, owner, per_set, concurrency: None, recorded: None }
    }

    /// With no rounds, one run that is compared with nothing.
    pub(super) async fn measure(
        &mut self,
        work: Work,
        machines: usize,
        rounds: usize,
    ) -> Result<Series> {
        println!("{machines} machines: {work:?}");
        let recording = if rounds > 0 { Some(self.recording(work).await?) } else { None };
        let mut series = Series {
            machines,
            times: Comparison::default(),
            runs: Vec::new(),
            removals: Vec::new(),
            rolls: Vec::new(),
            idle_requests: None,
        };
        if let Some(recording) = &recording {
            series.times.limit.push(self.limit(recording, machines).await?);
        }
        for round in 0..rounds.max(1) {
            let is_last = round + 1 >= rounds;
            self.run(work, is_last, &mut series).await?;
            if let Some(recording) = &recording {
                series.times.limit.push(self.limit(recording, machines).await?);
            }
        }
        Ok(series)
    }

    async fn run(&self, work: Work, is_last: bool, series: &mut Series) -> Result<()> {
        let (machines, options) = (series.machines, self.options);
        let what = (work, self.owner);
        let mut live = Live::run(what, machines, self.per_set, Audit::Metadata, options).await?;
        let rolled = if work == Work::Roll { Some(live.roll().await?) } else { None };
        let run = live.measure(options).await?;
        series.times.ours.push(rolled.map_or(run.seconds, |roll| roll.seconds));
        series.rolls.extend(rolled);
        series.runs.push(run);
        if work == Work::Run {
            if is_last && machines == self.per_set {
                series.idle_requests = Some(live.idle_requests(options).await?);
            }
            series.removals.push(live.remove().await?);
        }
        live.end().await
    }

    /// Requests of a program whose Machines all run.
    pub(super) async fn settled(&self, machines: usize) -> Result<usize> {
        println!("{machines} machines, {} of each owner: settled", self.per_set);
        let (what, options) = ((Work::Run, self.owner), self.options);
        let mut live = Live::run(what, machines, self.per_set, Audit::Metadata, options).await?;
        let requests = live.idle_requests(options).await?;
        live.end().await?;
        Ok(requests)
    }

    /// Runs the program for that, unless it was already.
    async fn recording(&mut self, work: Work) -> Result<Arc<Recording>> {
        if let Some((_, recording)) = self.recorded.as_ref().filter(|(what, _)| *what == work) {
            return Ok(Arc::clone(recording));
        }
        println!("  recording");
        let (machines, options) = (self.per_set, self.options);
        let what = (work, self.owner);
        let mut live = Live::run(what, machines, machines, Audit::Bodies, options).await?;
        let before = if work == Work::Roll { live.entries().len() } else { 0 };
        if work == Work::Roll {
            live.roll().await?;
        }
        let recording = Arc::new(Recording::of(live.entries(), before)?);
        live.end().await?;
        self.recorded = Some((work, Arc::clone(&recording)));
        Ok(recording)
    }

    async fn limit(&mut self, recording: &Recording, machines: usize) -> Result<f64> {
        let concurrency = match self.concurrency {
            Some(concurrency) => concurrency,
            None => self.best_concurrency(recording).await?,
        };
        self.concurrency = Some(concurrency);
        let fleet = (machines / self.per_set, self.per_set);
        replay(recording, self.owner, fleet, concurrency, self.options).await
    }

    async fn best_concurrency(&self, recording: &Recording) -> Result<usize> {
        let mut best = None;
        for concurrency in CONCURRENCIES {
            let fleet = (1, self.per_set);
            let seconds = replay(recording, self.owner, fleet, concurrency, self.options).await?;
            if best.is_none_or(|(least, _)| seconds < least) {
                best = Some((seconds, concurrency));
            }
        }
        best.map(|(_, concurrency)| concurrency).context("nothing was tried")
    }
}

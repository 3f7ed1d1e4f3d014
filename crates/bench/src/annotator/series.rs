//! Raw, ours, raw, ours, raw, so that a machine that gets slower or faster meanwhile does so for both. The time of the
//! recorded run does not count, because nothing that it could be compared with was measured before it.

use std::time::Duration;

use anyhow::Result;

use super::live::{Live, Run};
use super::recording::Recording;
use crate::bed::Bed;
use crate::raw::Bare;

#[derive(Debug)]
pub(super) struct Series {
    pub(super) objects: usize,
    pub(super) recorded: Run,
    /// Of the bare client: before each run of ours, and after the last one.
    pub(super) limit: Vec<f64>,
    pub(super) ours: Vec<Run>,
}

impl Series {
    /// For what needs no comparison.
    pub(super) fn all(&self) -> impl Iterator<Item = &Run> {
        std::iter::once(&self.recorded).chain(&self.ours)
    }
}

pub(super) async fn record(
    bed: &Bed,
    objects: usize,
    settle: Duration,
) -> Result<(Recording, Run)> {
    let mut live = Live::run(bed, objects).await?;
    let run = live.measure(bed, settle).await?;
    live.stop().await?;
    let recording = Recording::of(bed, &live).await?;
    live.end(bed).await?;
    Ok((recording, run))
}

#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) bed: &'a Bed,
    pub(super) raw: &'a Bare,
    pub(super) concurrency: usize,
    pub(super) settle: Duration,
}

impl Plan<'_> {
    pub(super) async fn run(
        &self,
        recording: &Recording,
        recorded: Run,
        rounds: usize,
    ) -> Result<Series> {
        let objects = recording.objects();
        let (mut limit, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            if limit.is_empty() {
                limit.push(self.replay(recording).await?);
            }
            let mut live = Live::run(self.bed, objects).await?;
            ours.push(live.measure(self.bed, self.settle).await?);
            live.end(self.bed).await?;
            limit.push(self.replay(recording).await?);
        }
        Ok(Series { objects, recorded, limit, ours })
    }

    async fn replay(&self, recording: &Recording) -> Result<f64> {
        let seconds = recording.replay(self.bed, self.raw, self.concurrency).await?;
        println!("  raw {seconds:.2} s");
        Ok(seconds)
    }
}

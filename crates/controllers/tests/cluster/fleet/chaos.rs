//! Anything may happen in any order, and in the end there are the machines that were wanted, and nothing else.
//!
//! A [`story`] comes from a seed: changes of size, late watches, lost answers, crashes, a cloud in bad weather. It is [`run`] while a
//! [`witness`] watches every state of every machine. `FLEET_SEEDS=7` tells one story, `FLEET_SEEDS=1..200` many; a failure names its own.

mod run;
mod story;
mod witness;

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use futures::StreamExt as _;
use machinist_control_plane::FeatureSet;

use self::run::live_through;
use self::story::Story;
use crate::definitions::Served;

/// How many stories are told side by side: most of a story is waiting.
const PARALLEL: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_ends_well_on_our_definitions() -> Result<()> {
    tell(Served::Ours, 1..5).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_ends_well_on_openshifts_definitions() -> Result<()> {
    tell(Served::Stock(FeatureSet::Default), 5..9).await
}

fn seeds(usual: Range<u64>) -> Result<Range<u64>> {
    let Ok(text) = std::env::var("FLEET_SEEDS") else { return Ok(usual) };
    let number = |text: &str| text.parse::<u64>().context("FLEET_SEEDS is a seed, or from..to");
    Ok(match text.split_once("..") {
        Some((from, to)) => number(from)?..number(to)?,
        None => number(&text)?..number(&text)? + 1,
    })
}

async fn tell(served: Served, usual: Range<u64>) -> Result<()> {
    let stories = seeds(usual)?.map(Story::from_seed);
    let told = futures::stream::iter(stories).map(|story| async move {
        let result = live_through(&story, served).await;
        result.with_context(|| format!("FLEET_SEEDS={} on {served:?}:\n{story}", story.seed))
    });
    let results: Vec<_> = told.buffer_unordered(PARALLEL).collect().await;
    let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    for failure in &failures {
        println!("{failure:?}\n");
    }
    ensure!(failures.is_empty(), "{} stories did not end well", failures.len());
    Ok(())
}

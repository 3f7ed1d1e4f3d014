//! Anything may happen in any order, and in the end there are the machines that were wanted, and nothing else.
//!
//! A [`story`] comes from a seed: changes of size, late watches, lost answers, crashes, a cloud in bad weather. It is
//! [`run`] while a [`witness`] watches every state of every machine. `FLEET_SEEDS=7` runs one story,
//! `FLEET_SEEDS=1..200` many; a failure names its own.

mod run;
mod story;
mod witness;

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use futures::StreamExt as _;
use machinist_testbed::openshift::FeatureSet;

use self::run::live_through;
use self::story::Story;
use crate::definitions::Served;

/// How many stories run side by side: most of a story is waiting.
const PARALLEL: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_ends_well_on_our_definitions() -> Result<()> {
    run_stories(Served::Ours, 1..5).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_happens_ends_well_on_openshifts_definitions() -> Result<()> {
    run_stories(Served::Stock(FeatureSet::Default), 5..9).await
}

/// What `FLEET_SEEDS` asks for, or the default.
fn seeds(wanted: Option<&str>, default: Range<u64>) -> Result<Range<u64>> {
    let Some(text) = wanted else { return Ok(default) };
    let number = |text: &str| text.parse::<u64>().context("FLEET_SEEDS must be SEED or FROM..TO");
    let seeds = match text.split_once("..") {
        Some((from, to)) => number(from)?..number(to)?,
        None => number(text)?..number(text)? + 1,
    };
    ensure!(!seeds.is_empty(), "FLEET_SEEDS={text} contains no seed");
    Ok(seeds)
}

#[test]
fn rejects_an_empty_range_of_seeds() {
    assert_eq!(seeds(None, 1..5).unwrap(), 1..5);
    assert_eq!(seeds(Some("7"), 1..5).unwrap(), 7..8);
    assert_eq!(seeds(Some("7..9"), 1..5).unwrap(), 7..9);
    for wrong in ["5..5", "6..5", "", "a..b"] {
        assert!(seeds(Some(wrong), 1..5).is_err(), "{wrong}");
    }
}

async fn run_stories(served: Served, usual: Range<u64>) -> Result<()> {
    let wanted = std::env::var("FLEET_SEEDS").ok();
    let stories = seeds(wanted.as_deref(), usual)?.map(Story::from_seed);
    let runs = futures::stream::iter(stories).map(|story| async move {
        let result = live_through(&story, served).await;
        result.with_context(|| format!("FLEET_SEEDS={} on {served:?}:\n{story}", story.seed))
    });
    let results: Vec<_> = runs.buffer_unordered(PARALLEL).collect().await;
    let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    for failure in &failures {
        println!("{failure:?}\n");
    }
    ensure!(failures.is_empty(), "{} stories did not end well", failures.len());
    Ok(())
}

//! Every reachable state of two processes and one Lease: never two writers, and one in the end. `rules::decide` and
//! `Observation::see` are real; the elector is modelled. A process is killed, stopped, or takes over; a write of the
//! Lease is executed at once, later, after the client has given up, or never, and its answer may be lost; users delete
//! the Lease; what a process has seen is as old as it may be; the processes' clocks differ by a tick.
//!
//! The tick is a sixth of the lease duration. Left out, because the rules do not promise it: a user deletes the Lease
//! while a process runs that has not seen its holder.

mod model;
mod process;

use anyhow::{Result, ensure};
use machinist_testbed::explore::{Counterexample, explore, find_bug, is_large};

use self::model::World;
use super::rules::{Claim, Observation, Step, decide};

type Decide = fn(&Observation, Claim<'_>, std::time::Duration) -> Step;

#[test]
fn explore_two_processes() -> Result<(), Counterexample> {
    let faults = if is_large() { 2 } else { 1 };
    explore(&format!("a Lease, {faults} faults"), &World::new(faults, false))
}

#[test]
fn explore_takeover() -> Result<(), Counterexample> {
    let faults = u8::from(is_large());
    explore(&format!("a Lease and a takeover, {faults} faults"), &World::new(faults, true))
}

#[test]
fn explore_clocks_that_differ() -> Result<(), Counterexample> {
    let faults = u8::from(is_large());
    let mut world = World::new(faults, false);
    world.skew = 1;
    explore(&format!("a Lease and clocks that differ, {faults} faults"), &world)
}

/// The holder may write for two thirds of the duration: clocks may not differ by the last third.
#[test]
fn explore_finds_clocks_that_differ_too_much() -> Result<()> {
    let mut world = World::new(0, false);
    world.skew = 3;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("two processes may write"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_two_writers_after_a_deleted_lease() -> Result<()> {
    let mut world = World::new(1, false);
    world.decide = |observed, claim, now| {
        decide(&Observation { deleted: Vec::new(), ..observed.clone() }, claim, now)
    };
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("two processes may write"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_two_writers_if_expiry_is_too_early() -> Result<()> {
    let mut world = World::new(1, false);
    world.decide = |observed, claim, now| {
        let early = observed.duration / 2;
        decide(observed, claim, now + early)
    };
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("two processes may write"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_lease_that_is_never_taken() -> Result<()> {
    let mut world = World::new(1, false);
    world.decide = |observed, claim, now| match decide(observed, claim, now) {
        Step::Take(record) if record.holder != claim.me => Step::Wait(now),
        step => step,
    };
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("no path to a desired state"), "{found}");
    Ok(())
}

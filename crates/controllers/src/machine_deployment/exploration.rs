//! Every reachable state of a MachineDeployment of two Machines whose template is edited twice (A → B → C, or back to
//! A), with `maxSurge` 1 and `maxUnavailable` 0. `decide` and `report` are real. The model has the API server, caches
//! that lag, changes of leader, writes whose answer is lost, that are refused, or that are executed after the client
//! has given up, Machines that die by themselves, guards, and a MachineSet controller with what its own exploration has
//! shown: it creates under reserved names only, and deletes what it has chosen, also if the set is scaled meanwhile.
//!
//! The model assumes what the runtime guarantees: own writes are in the cache at once, a key with a lost answer or a
//! conflict is read live, a write with a resourceVersion fails on a conflict, a new leader lists everything first.

mod bugs;
mod model;
mod observed;
mod sets;
mod state;

use machinist_testbed::explore::{Counterexample, explore, is_large};

use self::model::{Limits, World};
use self::observed::Guard;

fn explore_all(worlds: &[Limits]) -> Result<(), Counterexample> {
    for limits in worlds {
        explore(&format!("a MachineDeployment of 2, {limits}"), &World::new(*limits))?;
    }
    Ok(())
}

const EDITS: Limits =
    Limits { edits: 2, faults: 0, deaths: 0, late_sizes: false, guard: Guard::None };

#[test]
fn explore_rollouts() -> Result<(), Counterexample> {
    let late = Limits { faults: 1, late_sizes: true, ..EDITS };
    explore_all(&[if is_large() { Limits { faults: 2, ..EDITS } } else { late }])
}

#[test]
fn explore_rollouts_with_machines_that_die() -> Result<(), Counterexample> {
    let late = Limits { faults: 1, late_sizes: true, deaths: 1, ..EDITS };
    explore_all(&[if is_large() { late } else { Limits { deaths: 1, ..EDITS } }])
}

/// Also an aborted rollout ends in a state in which nothing is left to do.
#[test]
fn explore_guarded_rollouts() -> Result<(), Counterexample> {
    let canary = Limits { guard: Guard::Canary, ..EDITS };
    let abort = Limits { guard: Guard::Abort, ..EDITS };
    explore_all(&[canary, abort])
}

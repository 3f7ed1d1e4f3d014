//! A bug per invariant, which the exploration has to find.

use anyhow::{Result, ensure};
use machinist_testbed::explore::find_bug;

use super::super::decide::decide;
use super::super::plan::{Plan, Reason};
use super::super::samples::now;
use super::super::snapshot::{InFlight, Snapshot};
use super::model::{Decide, World};

fn with(decide: Decide) -> World {
    let mut world = World::new(2, 1, 1, false);
    world.decide = decide;
    world
}

#[test]
fn explore_finds_machines_in_creation_that_do_not_count() -> Result<()> {
    fn forgets_open(snapshot: &Snapshot) -> Plan {
        let mut snapshot = snapshot.clone();
        if let Ok(view) = &mut snapshot.content
            && view.open_ordinals == [1]
        {
            view.open_ordinals.clear();
            view.in_flight = InFlight::No;
        }
        decide(&snapshot, now())
    }
    let found = find_bug(&with(forgets_open))?;
    ensure!(found.broken.contains("never more than"), "{found}");
    Ok(())
}

/// A create is executed when its ordinal was given up already.
#[test]
fn explore_finds_a_late_machine() -> Result<()> {
    fn forgets_late_creates(snapshot: &Snapshot) -> Plan {
        let mut snapshot = snapshot.clone();
        if let Ok(view) = &mut snapshot.content {
            view.in_flight = InFlight::No;
        }
        decide(&snapshot, now())
    }
    let found = find_bug(&with(forgets_late_creates))?;
    ensure!(found.broken.contains("never more than"), "{found}");
    ensure!(found.path.iter().any(|step| step.starts_with("LateCreate")), "{found}");
    Ok(())
}

#[test]
fn explore_finds_machines_in_place_of_orphans() -> Result<()> {
    fn forgets_orphans(snapshot: &Snapshot) -> Plan {
        let mut snapshot = snapshot.clone();
        if let Ok(view) = &mut snapshot.content {
            view.unadopted_orphans = 0;
        }
        decide(&snapshot, now())
    }
    let found = find_bug(&with(forgets_orphans).with_orphans(1))?;
    ensure!(found.broken.contains("never more than"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_deletions_by_an_old_number() -> Result<()> {
    let mut world = World::new(2, 2, 0, false);
    world.reads_set_before_deleting = false;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("not wanted to go"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_set_that_is_stuck() -> Result<()> {
    fn never_closes(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::MoveWindow { to } if to.is_closed() => Plan::NoOp(Reason::Settled),
            plan => plan,
        }
    }
    let found = find_bug(&with(never_closes))?;
    ensure!(found.broken.contains("no path to a desired state"), "{found}");
    Ok(())
}

//! A bug per invariant, which the exploration has to find.

use anyhow::{Result, ensure};
use machinist_domain::observed::Observed;
use machinist_testbed::explore::find_bug;

use super::super::decide;
use super::super::plan::{Plan, Reason};
use super::super::samples::now;
use super::super::snapshot::Snapshot;
use super::model::World;

#[test]
fn explore_finds_a_second_instance() -> Result<()> {
    /// Takes an instance that is not listed yet for one that does not exist.
    fn impatient(snapshot: &Snapshot) -> Plan {
        let mut snapshot = snapshot.clone();
        if let Ok(view) = &mut snapshot.view
            && matches!(view.observed, Observed::Unknown(_))
        {
            view.observed = Observed::Absent;
        }
        decide(&snapshot, now())
    }
    let found = find_bug(&World::with(0, 2, impatient))?;
    ensure!(found.broken.contains("two instances"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_leaked_instance() -> Result<()> {
    let mut world = World::new(1, 1);
    world.waits_for_late_instances = false;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("has no Machine"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_an_instance_that_is_created_before_its_launch_is_stored() -> Result<()> {
    fn hasty(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::Prepare { attempt } => Plan::Create { attempt },
            plan => plan,
        }
    }
    let found = find_bug(&World::with(0, 0, hasty))?;
    ensure!(found.broken.contains("no Machine knows"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_the_deletion_of_an_instance_that_is_wanted() -> Result<()> {
    fn eager(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::Fail(_) => Plan::Terminate,
            plan => plan,
        }
    }
    let found = find_bug(&World::with(1, 0, eager))?;
    ensure!(found.broken.contains("that stays"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_machine_that_never_goes() -> Result<()> {
    fn clinging(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::Release => Plan::NoOp(Reason::Deleting),
            plan => plan,
        }
    }
    let found = find_bug(&World::with(1, 0, clinging))?;
    ensure!(found.broken.contains("no path to a desired state"), "{found}");
    Ok(())
}

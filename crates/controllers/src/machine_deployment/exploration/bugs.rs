//! A bug per invariant, which the exploration has to find.

use std::sync::Arc;

use anyhow::{Result, ensure};
use machinist_testbed::explore::find_bug;

use super::super::decide::decide;
use super::super::plan::{Plan, Reason};
use super::super::samples::now;
use super::super::snapshot::{Snapshot, View};
use super::model::{Decide, Limits, World};
use super::observed::Guard;

const EDIT: Limits =
    Limits { edits: 1, faults: 0, deaths: 0, late_sizes: false, guard: Guard::None };

fn with(limits: Limits, decide: Decide) -> World {
    let mut world = World::new(limits);
    world.decide = decide;
    world
}

fn changed(snapshot: &Snapshot, change: impl FnOnce(&mut View)) -> Plan {
    let mut snapshot = snapshot.clone();
    if let Ok(view) = &mut snapshot.content {
        change(view);
    }
    decide(&snapshot, now())
}

#[test]
fn explore_finds_deleted_machines_that_do_not_count() -> Result<()> {
    fn forgets_leaving(snapshot: &Snapshot) -> Plan {
        changed(snapshot, |view| view.sets.iter_mut().for_each(|one| one.leaving = 0))
    }
    let found = find_bug(&with(EDIT, forgets_leaving))?;
    ensure!(found.broken.contains("Machines exist"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_machines_that_count_as_available_too_early() -> Result<()> {
    fn counts_starting(snapshot: &Snapshot) -> Plan {
        changed(snapshot, |view| {
            let members = view.sets.iter_mut().flat_map(|one| &mut one.members);
            members.for_each(|member| member.ready = Some(None));
        })
    }
    let found = find_bug(&with(EDIT, counts_starting))?;
    ensure!(found.broken.contains("Machines are available"), "{found}");
    Ok(())
}

/// A set that is scaled down while its Machines are not in the view, and up again.
#[test]
fn explore_finds_forgotten_doubts() -> Result<()> {
    let mut world = World::new(Limits { edits: 2, ..EDIT });
    world.remembers_doubts = false;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("Machines"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_mark_that_stops_the_rollout() -> Result<()> {
    fn never_unmarks(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::Unmark(_) => Plan::NoOp(Reason::Gone),
            plan => plan,
        }
    }
    let found = find_bug(&with(Limits { edits: 2, deaths: 1, ..EDIT }, never_unmarks))?;
    ensure!(found.broken.contains("no path to a desired state"), "{found}");
    Ok(())
}

/// The process before has scaled a set down whose Machine was in creation.
#[test]
fn explore_finds_doubts_that_a_new_leader_forgets() -> Result<()> {
    let mut world = World::new(Limits { edits: 2, faults: 1, ..EDIT });
    world.new_leader_doubts = false;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("Machines exist"), "{found}");
    ensure!(found.path.iter().any(|step| step == "NewLeader"), "{found}");
    Ok(())
}

/// A size is stored when the template is another one already.
#[test]
fn explore_finds_a_late_size() -> Result<()> {
    fn forgets_late_sizes(snapshot: &Snapshot) -> Plan {
        changed(snapshot, |view| view.sets.iter_mut().for_each(|one| one.late = None))
    }
    let limits = Limits { edits: 2, faults: 1, late_sizes: true, ..EDIT };
    let found = find_bug(&with(limits, forgets_late_sizes))?;
    ensure!(found.broken.contains("Machines"), "{found}");
    ensure!(found.path.iter().any(|step| step.starts_with("LateWrite")), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_success_that_is_reported_too_early() -> Result<()> {
    fn is_impatient(snapshot: &Snapshot) -> Plan {
        match decide(snapshot, now()) {
            Plan::NoOp(Reason::Gone) => Plan::NoOp(Reason::Complete),
            plan => plan,
        }
    }
    let found = find_bug(&with(EDIT, is_impatient))?;
    ensure!(found.broken.contains("reported as complete"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_an_abort_that_is_not_obeyed() -> Result<()> {
    fn forgets_aborts(snapshot: &Snapshot) -> Plan {
        changed(snapshot, |view| {
            for one in &mut view.sets {
                let set = Arc::make_mut(&mut one.set);
                Arc::make_mut(&mut set.state).guard.aborted = false;
            }
        })
    }
    let found = find_bug(&with(Limits { guard: Guard::Abort, ..EDIT }, forgets_aborts))?;
    ensure!(found.broken.contains("although its rollout is aborted"), "{found}");
    Ok(())
}

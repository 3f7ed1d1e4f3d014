//! Every reachable state of one Machine and its Node: what users put on the Node stays, and in the end both are linked
//! and the Node has what the Machine wants. `decide` and `report` are real; the model has the API server, caches that
//! may be old, users who change both objects, a Node that registers again, and a change of leader at any time. A write
//! is executed, is executed and loses its answer, is refused, or is executed after the client has given up.

mod model;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use machinist_testbed::explore::{Counterexample, explore, find_bug, is_large};

use self::model::World;
use super::decide::decide;
use super::plan::{Link, Plan, Reason};
use super::snapshot::{Owner, Snapshot};

#[test]
fn explore_linking() -> Result<(), Counterexample> {
    let (users, faults) = if is_large() { (4, 4) } else { (2, 2) };
    let name = format!("a link, {users} actions of users, {faults} faults");
    explore(&name, &World::new(users, faults))
}

#[test]
fn explore_finds_a_taint_that_is_lost() -> Result<()> {
    let mut world = World::new(1, 0);
    world.names_version = false;
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("taint of a user"), "{found}");
    Ok(())
}

fn is_unwanted(snapshot: &Snapshot) -> bool {
    let Owner::Machine(machine) = &snapshot.owner else { return false };
    snapshot.node.labels.contains("k") && !machine.node_labels.contains("k")
}

#[test]
fn explore_finds_a_label_that_is_lost() -> Result<()> {
    let mut world = World::new(3, 0);
    // Removes a label that the Machine does not want, although a user has set it.
    world.decide = |snapshot| match decide(snapshot, Timestamp::UNIX_EPOCH) {
        Plan::NoOp(Reason::Linked) if is_unwanted(snapshot) => {
            let node = serde_json::json!({"metadata": {"labels": {"k": null}}});
            Plan::Link(Link { machine: None, node: Some(node) })
        }
        plan => plan,
    };
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("label of a user"), "{found}");
    Ok(())
}

#[test]
fn explore_finds_a_link_that_is_never_corrected() -> Result<()> {
    let mut world = World::new(1, 0);
    // Compares no uids: a Node that registers again has the same name.
    world.decide = |snapshot| match decide(snapshot, Timestamp::UNIX_EPOCH) {
        Plan::Link(link) if snapshot.node.meta.uid.0 == "n2".into() => {
            Plan::Link(Link { machine: None, ..link })
        }
        plan => plan,
    };
    let found = find_bug(&world)?;
    ensure!(found.broken.contains("no path to a desired state"), "{found}");
    Ok(())
}

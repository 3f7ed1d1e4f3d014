//! Every reachable state of one MachineSet with up to three Machines. `decide` and `report` are real; the model has the
//! API server, a cache that lags per object by any number of changes, users who scale and delete, and changes of leader
//! at any time. A write is executed, is executed and loses its answer, is refused, or is executed after the client has
//! given up, at most until the request timeout of the API server is over, even if another process leads by then.
//!
//! The model assumes what the runtime guarantees and no more: own writes are in the cache at once, a key with a lost
//! answer is read live, a write with a resourceVersion fails on a conflict, a new leader lists everything first.

mod bugs;
mod model;
mod state;

use machinist_testbed::explore::{Counterexample, explore, is_large};

use self::model::World;

#[test]
fn explore_scaling() -> Result<(), Counterexample> {
    let worlds = if is_large() { &[(3, 3, 1), (3, 2, 2)][..] } else { &[(3, 2, 1)] };
    for (most, users, faults) in worlds {
        let name =
            format!("a MachineSet of up to {most}, {users} actions of users, {faults} faults");
        explore(&name, &World::new(*most, *users, *faults, false))?;
        let name = format!("{name}, the newest are deleted first");
        explore(&name, &World::new(*most, *users, *faults, true))?;
    }
    Ok(())
}

#[test]
fn explore_scaling_beside_an_orphan() -> Result<(), Counterexample> {
    let worlds = if is_large() { &[(3, 3, 1), (3, 2, 2)][..] } else { &[(3, 2, 1)] };
    for (most, users, faults) in worlds {
        let name = format!(
            "a MachineSet of up to {most} beside an orphan, {users} actions of users, {faults} faults"
        );
        explore(&name, &World::new(*most, *users, *faults, false).with_orphans(1))?;
    }
    Ok(())
}

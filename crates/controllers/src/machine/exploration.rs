//! Every reachable state of one Machine: never two instances, no instance without a Machine that knows it, none deleted
//! whose Machine stays, and in the end an instance or nothing. `decide` and `report` are real; the model has the API
//! server, a cache that may be old, a cloud that hides new instances for a while, and a change of leader at any time. A
//! write or a call is executed, is executed and loses its answer, is refused, or is executed within a minute after the
//! client has given up. `properties.rs` walks a wider world (drift, hooks, invalid specs) at random, with fresh caches.

mod bugs;
mod cloud;
mod machines;
mod model;

use machinist_testbed::explore::{Counterexample, explore, is_large};

use self::model::World;

#[test]
fn explore_creation_and_deletion() -> Result<(), Counterexample> {
    let (users, faults) = if is_large() { (2, 3) } else { (1, 1) };
    let name = format!("a Machine, {users} actions of users, {faults} faults");
    explore(&name, &World::new(users, faults))
}

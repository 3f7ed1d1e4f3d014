//! Scaling while canaries are observed, and after an abort.

use super::*;

fn canaries(count: usize, fleet: Fleet<'_>) -> Step {
    Fleet { guard: Guard::Canary(count), ..fleet }.step()
}

fn aborted(fleet: Fleet<'_>) -> Step {
    Fleet { guard: Guard::Aborted, ..fleet }.step()
}

#[test]
fn canaries_come_first_and_old_machines_stay_within_the_surge() {
    let step = |old, new| canaries(1, fleet(3, &[set(old, old), new]));
    assert_eq!(step(3, set(0, 0)), scale(1, 1));
    assert_eq!(step(3, set(1, 0)), Step::Wait(Wait::Available(1)));
    assert_eq!(step(3, set(1, 1)), Step::Wait(Wait::Canary), "no old one goes");
}

#[test]
fn old_machines_make_room_for_as_many_canaries_as_there_are() {
    let step = |old, new| canaries(2, fleet(3, &[set(old, old), set(new, new)]));
    assert_eq!(step(3, 1), scale(0, 2));
    assert_eq!(step(2, 1), scale(1, 2));
    assert_eq!(step(2, 2), Step::Wait(Wait::Canary));
    let without_surge = |old, new| {
        let sets = [set(old, old), set(new, new)];
        canaries(2, Fleet { surge: 0, unavailable: 2, ..fleet(5, &sets) })
    };
    assert_eq!(without_surge(5, 0), scale(0, 3));
    assert_eq!(without_surge(3, 0), scale(1, 2));
    assert_eq!(without_surge(3, 2), Step::Wait(Wait::Canary));
}

#[test]
fn all_machines_may_be_canaries() {
    let step = |old, new| canaries(9, fleet(2, &[set(old, old), set(new, new)]));
    assert_eq!(step(2, 1), scale(0, 1));
    assert_eq!(step(1, 2), Step::Wait(Wait::Canary), "one old Machine is left of the surge");
}

#[test]
fn additional_replicas_are_created_from_the_old_template() {
    let step = |replicas, sets: &[Numbers]| canaries(1, fleet(replicas, sets));
    assert_eq!(step(6, &[set(3, 3), set(1, 1)]), scale(0, 5));
    // A canary that does not work is no replica.
    assert_eq!(step(6, &[set(3, 3), set(1, 0)]), scale(0, 6));
    // There is room for the canary.
    assert_eq!(step(6, &[set(3, 3), set(0, 0)]), scale(1, 1));
    // A second template that was abandoned is not used.
    assert_eq!(step(6, &[set(3, 3), set(1, 0), set(1, 1)]), scale(0, 4));
    let sets = [set(3, 3), set(1, 1)];
    let paused = Fleet { paused: true, ..fleet(6, &sets) };
    assert_eq!(canaries(1, paused), scale(0, 5));
}

#[test]
fn fewer_replicas_are_taken_from_old_sets_before_canaries() {
    assert_eq!(canaries(1, fleet(2, &[set(10, 10), set(1, 1)])), scale(0, 2));
    // More than the canaries, of the template before: these go, too.
    assert_eq!(canaries(1, fleet(2, &[set(1, 1), set(5, 5)])), scale(1, 2));
}

#[test]
fn an_aborted_rollout_neither_creates_nor_replaces() {
    for new in [set(0, 0), set(1, 0), set(1, 1)] {
        assert_eq!(aborted(fleet(3, &[set(3, 3), new])), Step::Wait(Wait::Aborted));
    }
    let sets = [set(3, 3), set(0, 0)];
    let recreate = Fleet { recreate: true, surge: 0, ..fleet(3, &sets) };
    assert_eq!(aborted(recreate), Step::Wait(Wait::Aborted));
}

#[test]
fn an_aborted_rollout_scales_the_template_that_works() {
    assert_eq!(aborted(fleet(6, &[set(2, 2), set(2, 1)])), scale(0, 5));
    let stopped = Numbers { aborted: true, ..set(2, 2) };
    assert_eq!(aborted(fleet(6, &[set(1, 1), stopped, set(1, 0)])), scale(0, 4));
    let sets = [set(1, 1), stopped, set(0, 0)];
    assert_eq!(Fleet { paused: true, ..fleet(6, &sets) }.step(), scale(0, 4));
    // Also if it has no Machines.
    assert_eq!(aborted(fleet(2, &[set(0, 0), set(0, 0)])), scale(0, 2));
    // The Machines of the aborted template go first.
    assert_eq!(aborted(fleet(3, &[set(4, 4), set(2, 1)])), scale(1, 0));
    assert_eq!(aborted(fleet(1, &[set(4, 4), set(1, 0)])), Step::Scale(vec![(0, 2), (1, 0)]));
}

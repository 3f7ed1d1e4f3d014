mod guarded;
mod properties;

use super::*;

fn set(desired: usize, available: usize) -> Numbers {
    Numbers {
        desired,
        members: desired,
        available,
        first: desired - available,
        exact: true,
        ..Numbers::default()
    }
}

fn fleet(replicas: usize, sets: &[Numbers]) -> Fleet<'_> {
    Fleet {
        replicas,
        surge: 1,
        unavailable: 0,
        paused: false,
        recreate: false,
        guard: Guard::None,
        doubtful: false,
        new: Some(sets.len() - 1),
        sets,
    }
}

fn scale(set: usize, size: usize) -> Step {
    Step::Scale(vec![(set, size)])
}

#[test]
fn rolls_one_machine_after_the_other() {
    let with_new = |old, new: Numbers| fleet(3, &[old, new]).step();
    assert_eq!(with_new(set(3, 3), set(0, 0)), scale(1, 1));
    assert_eq!(with_new(set(3, 3), set(1, 0)), Step::Wait(Wait::Available(1)));
    assert_eq!(with_new(set(3, 3), set(1, 1)), scale(0, 2));
    let deleting = Numbers { leaving: 1, ..set(2, 2) };
    assert_eq!(with_new(deleting, set(1, 1)), Step::Wait(Wait::Gone), "it still costs");
    assert_eq!(with_new(set(2, 2), set(1, 1)), scale(1, 2));
    assert_eq!(with_new(set(1, 1), set(3, 3)), scale(0, 0));
    assert_eq!(with_new(Numbers { leaving: 1, ..set(0, 0) }, set(3, 3)), Step::Wait(Wait::Gone));
    assert_eq!(with_new(set(0, 0), set(3, 3)), Step::Done);
}

#[test]
fn without_surge_makes_room_first() {
    let step = |old, new: Numbers| {
        let sets = [old, new];
        Fleet { surge: 0, unavailable: 1, ..fleet(3, &sets) }.step()
    };
    assert_eq!(step(set(3, 3), set(0, 0)), scale(0, 2));
    assert_eq!(step(set(2, 2), set(0, 0)), scale(1, 1));
    assert_eq!(step(set(2, 2), set(1, 0)), Step::Wait(Wait::Available(1)));
    assert_eq!(step(set(2, 2), set(1, 1)), scale(0, 1));
}

#[test]
fn a_broken_template_stops_after_the_first_surge() {
    // Also if old Machines are unhealthy: they may recover, and the new ones do not work either.
    for old in [set(3, 3), set(3, 1)] {
        assert_eq!(fleet(3, &[old, set(1, 0)]).step(), Step::Wait(Wait::Available(1)));
    }
}

#[test]
fn unhealthy_old_machines_go_first() {
    let sets = [set(3, 2), set(3, 2), set(1, 1)];
    let step = Fleet { surge: 1, ..fleet(6, &sets) }.step();
    assert_eq!(step, scale(0, 2), "the oldest set first");
    // A Machine with a Node that is not ready could survive a healthy one, so it is marked.
    let not_ready = Numbers { first: 0, markable: 1, ..set(3, 2) };
    assert_eq!(fleet(3, &[not_ready, set(1, 1)]).step(), Step::Mark(0, 1));
    let starting = Numbers { first: 0, markable: 4, ..set(5, 1) };
    assert_eq!(fleet(1, &[starting]).step(), Step::Mark(0, 4), "as many as are deleted");
}

#[test]
fn a_third_template_abandons_the_second() {
    let sets = [set(3, 3), set(1, 0), set(0, 0)];
    assert_eq!(fleet(3, &sets).step(), scale(1, 0));
    let sets = [set(3, 3), set(0, 0), set(0, 0)];
    assert_eq!(fleet(3, &sets).step(), scale(2, 1));
}

#[test]
fn scales_out_the_new_set_and_scales_in_all_in_proportion() {
    let sets = [set(3, 3), set(2, 2)];
    assert_eq!(fleet(8, &sets).step(), scale(1, 6));
    let sets = [set(6, 6), set(5, 5)];
    assert_eq!(fleet(5, &sets).step(), Step::Scale(vec![(0, 3), (1, 3)]));
    // New Machines are not available yet: the old ones are needed.
    let sets = [set(6, 6), set(5, 0)];
    assert_eq!(fleet(5, &sets).step(), Step::Scale(vec![(0, 5), (1, 3)]));
    let sets = [set(5, 5), set(3, 0)];
    let Step::Scale(sizes) = fleet(5, &sets).step() else { panic!("scales") };
    assert_eq!(sizes, [(1, 2)]);
}

#[test]
fn marked_machines_go_first_in_whichever_set_they_are() {
    let marked = |desired, count| Numbers { marked: count, ..set(desired, desired - count) };
    // In proportion, the old set would lose them.
    let step = |replicas, sets: &[Numbers]| fleet(replicas, sets).step();
    assert_eq!(step(3, &[set(4, 4), marked(2, 2)]), scale(1, 0));
    assert_eq!(step(3, &[marked(4, 1), marked(2, 1)]), Step::Scale(vec![(0, 3), (1, 1)]));
    let paused = Fleet { paused: true, ..fleet(3, &[set(4, 4), marked(1, 1)]) }.step();
    assert_eq!(paused, scale(1, 0));
    // The rest is taken in proportion afterwards.
    assert_eq!(step(1, &[set(4, 4), marked(1, 1)]), scale(1, 0));
    // One that is on its way out is not taken twice.
    let going = Numbers { desired: 1, members: 2, ..marked(2, 1) };
    assert_eq!(step(3, &[set(4, 4), going]), scale(0, 3));
    // Nothing is taken because of a mark alone, and a rollout stays complete.
    assert_eq!(step(3, &[set(0, 0), marked(3, 1)]), Step::Wait(Wait::Available(1)));
    let healthy = Numbers { marked_available: 1, ..marked(3, 1) };
    assert_eq!(step(3, &[set(0, 0), healthy]), Step::Done);
    // In a roll that waits for it, a marked Machine of the new set makes room for another one.
    assert_eq!(step(3, &[set(2, 2), marked(2, 1)]), scale(1, 1));
}

#[test]
fn lists_marks_before_it_chooses_the_set_to_scale_down() {
    let unlisted = |desired| Numbers { exact: false, ..set(desired, desired) };
    assert_eq!(fleet(3, &[unlisted(4), unlisted(2)]).step(), Step::List);
    // One set has all marks; its own controller lists them.
    assert_eq!(fleet(3, &[unlisted(0), unlisted(4)]).step(), scale(1, 3));
}

#[test]
fn deletions_that_are_not_seen_yet_count_as_done_and_still_cost() {
    // The old set has three Machines to delete one of, any of them.
    let pending = Numbers { desired: 2, ..set(3, 3) };
    assert_eq!(fleet(3, &[pending, set(1, 1)]).step(), Step::Wait(Wait::Gone));
    // A rollback does not scale up a set whose Machines may be on their way out.
    let rollback = fleet(4, &[set(1, 1), Numbers { desired: 1, ..set(3, 3) }]).step();
    assert_ne!(rollback, scale(1, 2));
}

#[test]
fn lists_machines_before_more_are_created_if_some_may_be_unseen() {
    let sets = [set(3, 3), set(0, 0)];
    assert_eq!(Fleet { doubtful: true, ..fleet(3, &sets) }.step(), Step::List);
    let sets = [set(3, 3), set(1, 1)];
    assert_eq!(Fleet { doubtful: true, ..fleet(3, &sets) }.step(), Step::List);
    // The same before a set is scaled down whose Machines are not all in the view: any of them may be deleted.
    let partly = |exact| Numbers { desired: 3, exact, ..set(2, 2) };
    let step = |exact| {
        let sets = [partly(exact), set(0, 0)];
        Fleet { surge: 0, unavailable: 1, ..fleet(3, &sets) }.step()
    };
    assert_eq!(step(false), Step::List);
    assert_eq!(step(true), scale(0, 2));
}

#[test]
fn recreate_deletes_everything_before_it_creates() {
    let step = |old, new: Numbers| {
        let sets = [set(1, 1), old, new];
        Fleet { recreate: true, surge: 0, ..fleet(3, &sets) }.step()
    };
    assert_eq!(step(set(2, 2), set(0, 0)), Step::Scale(vec![(0, 0), (1, 0)]));
    let sets = [Numbers { desired: 0, members: 1, ..set(1, 1) }, set(0, 0)];
    let recreate = |sets| Fleet { recreate: true, surge: 0, ..fleet(3, sets) }.step();
    assert_eq!(recreate(&sets), Step::Wait(Wait::Gone));
    let sets = [set(0, 0), set(0, 0)];
    assert_eq!(recreate(&sets), scale(1, 3));
    let recovered = Numbers { first: 1, marked: 1, recovered: 1, ..set(3, 3) };
    assert_eq!(recreate(&[set(0, 0), recovered]), Step::Unmark(1));
}

#[test]
fn paused_deployments_scale_and_do_not_roll() {
    let step = |replicas, sets: &[Numbers]| Fleet { paused: true, ..fleet(replicas, sets) }.step();
    assert_eq!(step(3, &[set(2, 2), set(2, 2)]), Step::Wait(Wait::Paused));
    assert_eq!(step(6, &[set(2, 2), set(2, 2)]), scale(1, 6 - 2));
    assert_eq!(step(6, &[set(3, 3), set(0, 0)]), scale(0, 6));
    assert_eq!(step(1, &[set(3, 3), set(0, 0)]), scale(0, 1));
    let sets = [set(3, 3)];
    assert_eq!(
        Fleet { new: None, ..Fleet { paused: true, ..fleet(4, &sets) } }.step(),
        scale(0, 4)
    );
}

#[test]
fn a_set_that_is_being_deleted_counts_and_is_not_scaled() {
    let deleting = Numbers { deleting: true, ..set(3, 3) };
    assert_eq!(fleet(3, &[deleting, set(0, 0)]).step(), scale(1, 1));
    assert_eq!(fleet(3, &[deleting, set(1, 1)]).step(), Step::Wait(Wait::Gone));
}

use super::*;

const LATE: u64 = 60;

fn sizes(min: u32, max: u32, desired: u32) -> Sizes {
    Sizes { min, max, desired }
}

/// A recycle to zero whose sizes were restored at `now()`, one second after the scale-down.
fn restored(step: Step) -> Snapshot {
    let mut base = snapshot(Strategy::ScaleToZero, step, &THREE);
    base.recycle.called_until = Some(now());
    base.group_mut().members = ["i-4", "i-5", "i-6"].map(member).into();
    base.nodes = ["i-4", "i-5", "i-6"].map(|id| (id.into(), node(id))).into();
    base
}

#[test]
fn a_scale_down_that_is_executed_after_the_sizes_were_restored_is_reverted() {
    for step in [Step::Refilling, Step::Unmarking] {
        let mut base = restored(step);
        let full = base.group_mut().sizes;
        base.group_mut().sizes = Sizes::ZERO;
        base.recycle = stored_plan(decide(&base, after(9)));
        assert_eq!(base.recycle.step, Step::Restoring);
        let back = Action::Change(GroupChange::Resize { from: Sizes::ZERO, to: full });
        assert_eq!(decide(&base, after(9)), back);
        base.group_mut().sizes = full;
        assert_eq!(self::step(decide(&base, after(10))), Step::Refilling);
    }
}

#[test]
fn the_tag_stays_while_a_scale_down_may_be_executed_late_and_no_longer() {
    let mut base = restored(Step::Refilling);
    base.recycle = stored_plan(decide(&base, after(20)));
    assert_eq!((base.recycle.step, base.recycle.called_until), (Step::Unmarking, Some(now())));
    for seconds in [20, LATE - 1] {
        let wait = decide(&base, after(seconds));
        assert!(waits_for(&wait).contains("no longer execute"), "{wait:?}");
        let left = base.settings.poll.min(Duration::from_secs(LATE - seconds));
        assert!(matches!(wait, Action::Wait { pause, .. } if pause == left), "{wait:?}");
    }
    assert_eq!(decide(&base, after(LATE)), Action::Change(GroupChange::Unmark));
    base.group_mut().mark = None;
    assert_eq!(step(decide(&base, after(LATE))), Step::Succeeded);
    // Without its tag it waits as well: the plan is in the status.
    assert!(matches!(decide(&base, after(LATE - 1)), Action::Wait { .. }));
}

#[test]
fn the_wait_begins_when_the_step_with_the_calls_is_left_and_survives_a_new_leader() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    base.group_mut().sizes = Sizes::ZERO;
    base.group_mut().members.clear();
    for expected in [Step::Emptying, Step::Restoring] {
        base.recycle = stored_plan(decide(&base, after(5)));
        assert_eq!((base.recycle.step, base.recycle.called_until), (expected, Some(after(5))));
    }
    // Of a version that did not record it.
    base.recycle.called_until = None;
    base.group_mut().sizes = base.recycle.original;
    base.recycle = stored_plan(decide(&base, after(7)));
    assert_eq!((base.recycle.step, base.recycle.called_until), (Step::Refilling, Some(after(7))));
}

#[test]
fn a_recorded_time_in_the_future_does_not_prolong_the_wait() {
    let mut base = restored(Step::Unmarking);
    base.recycle.called_until = Some(after(86_400));
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.called_until, Some(now()));
    assert_eq!(decide(&base, after(LATE)), Action::Change(GroupChange::Unmark));
}

#[test]
fn sizes_that_a_user_sets_after_the_restoration_are_kept_and_come_back_after_a_late_call() {
    let mut base = restored(Step::Refilling);
    base.group_mut().sizes = sizes(2, 9, 3);
    base.recycle = stored_plan(decide(&base, after(5)));
    assert_eq!((base.recycle.step, base.recycle.original), (Step::Refilling, sizes(2, 9, 3)));
    base.group_mut().sizes = Sizes::ZERO;
    base.recycle = stored_plan(decide(&base, after(9)));
    let back = GroupChange::Resize { from: Sizes::ZERO, to: sizes(2, 9, 3) };
    assert_eq!(decide(&base, after(9)), Action::Change(back));
    // No call of ours sets the desired size alone to zero.
    let mut base = restored(Step::Unmarking);
    base.group_mut().sizes = sizes(0, 5, 0);
    assert_eq!(decide(&base, after(LATE)), Action::Change(GroupChange::Unmark));
}

#[test]
fn a_refresh_that_is_started_late_is_cancelled() {
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    // Its start was not answered, and the EventRecycler is deleted.
    base.cancelled = true;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!((base.recycle.step, base.recycle.called_until), (Step::Releasing, Some(now())));
    assert!(waits_for(&decide(&base, after(LATE - 1))).contains("no longer execute"));
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    let cancel = Action::Change(GroupChange::CancelRefresh);
    assert_eq!(decide(&base, after(LATE - 1)), cancel);
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::Cancelled));
    for _ in 0..2 {
        if let Action::Store(next) = decide(&base, after(LATE)) {
            base.recycle = *next;
        }
    }
    assert_eq!(decide(&base, after(LATE)), Action::Change(GroupChange::Unmark));
}

#[test]
fn a_second_refresh_is_cancelled_only_if_it_may_be_ours() {
    for step in [Step::Refilling, Step::Unmarking] {
        let mut base = snapshot(Strategy::InstanceRefresh, step, &THREE);
        base.recycle.called_until = Some(now());
        base.group_mut().refresh = Some(refresh("r-2", RefreshStatus::InProgress));
        let poll = base.settings.poll.as_secs();
        // It may have begun directly before the last call could be executed.
        let cancel = Action::Change(GroupChange::CancelRefresh);
        assert_eq!(decide(&base, after(LATE + poll - 1)), cancel);
        assert_ne!(decide(&base, after(LATE + poll)), cancel, "that of a user");
    }
}

#[test]
fn the_calls_of_a_refresh_end_when_its_first_instance_is_gone() {
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    for (seconds, gone) in [(5, 1), (90, 2)] {
        base.group_mut().members.remove(0);
        base.recycle = stored_plan(decide(&base, after(seconds)));
        let states = base.recycle.instances.iter().map(|one| one.state);
        assert_eq!(states.filter(|state| *state == InstanceState::Gone).count(), gone);
        assert_eq!(base.recycle.called_until, Some(after(5)));
    }
}

#[test]
fn a_node_is_not_used_again_while_its_instance_may_be_terminated_late() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.nodes.insert("i-1".into(), cordoned_node("i-1", Some(drain_mark(true))));
    let release = |base: &Snapshot, at| matches!(decide(base, at), Action::Release { .. });
    let mut cancelled = base.clone();
    cancelled.cancelled = true;
    cancelled.recycle = stored_plan(decide(&cancelled, after(2)));
    assert_eq!(cancelled.recycle.step, Step::Releasing);
    let mut protected = base.clone();
    protected.group_mut().members[0].protected_from_scale_in = true;
    protected.recycle = stored_plan(decide(&protected, after(2)));
    assert_eq!(protected.recycle.instances[0].state, InstanceState::Kept);
    for base in [cancelled, protected] {
        assert_eq!(base.recycle.called_until, Some(after(2)));
        assert!(!release(&base, after(2 + LATE - 1)) && release(&base, after(2 + LATE)));
    }
    // It was drained only: it is used again at once.
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Draining);
    base.nodes.insert("i-1".into(), cordoned_node("i-1", Some(drain_mark(true))));
    base.cancelled = true;
    base.recycle = stored_plan(decide(&base, after(2)));
    assert!(release(&base, after(2)));
}

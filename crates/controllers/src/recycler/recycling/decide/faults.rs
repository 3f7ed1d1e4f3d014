use std::sync::Arc;

use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::node_groups::{InstanceId, Lifecycle, RefreshStatus, Sizes};

use super::super::samples::*;
use super::super::snapshot::GroupState;
use super::tests::{
    ALL, THREE, decide, failed, pod, refresh, replacing, set, step, stored_plan, waits_for,
};
use super::*;
use crate::kinds::Node;

const TIMEOUT: u64 = 20 * 60;

fn unknown(retry: Retry) -> GroupState {
    let message = "slow down".into();
    Observed::Unknown(Failure { category: Category::Throttled, retry, message })
}

fn release_of(base: &Snapshot, id: &str) -> Action {
    let node = base.nodes[&InstanceId::from(id)].meta.clone();
    Action::Release { node, uncordon: true }
}

fn cordoned(id: &str) -> Arc<Node> {
    cordoned_node(id, Some(drain_mark(true)))
}

#[test]
fn a_group_that_stays_gone_ends_the_recycle() {
    for strategy in ALL {
        for step in [Step::Replacing, Step::Emptying, Step::Restoring, Step::Refilling] {
            let mut base = snapshot(strategy, step, &THREE);
            base.group = Observed::Absent;
            for early in [0, TIMEOUT - 1] {
                assert!(waits_for(&decide(&base, after(early))).contains("not found"));
            }
            let (_, failure, _) = failed(decide(&base, after(TIMEOUT)));
            assert_eq!(failure, RecycleFailure::GroupGone);
            for expected in [Step::Releasing, Step::Unmarking] {
                base.recycle = stored_plan(decide(&base, after(TIMEOUT)));
                assert_eq!(base.recycle.step, expected);
            }
            assert!(waits_for(&decide(&base, after(2 * TIMEOUT - 1))).contains("checking again"));
            assert_eq!(super::tests::step(decide(&base, after(2 * TIMEOUT))), Step::Failed);
        }
    }
}

#[test]
fn a_group_that_is_being_deleted_ends_the_recycle_at_once() {
    for strategy in ALL {
        let mut base = snapshot(strategy, Step::Emptying, &THREE);
        base.group_mut().deleting = true;
        assert_eq!(failed(decide(&base, now())).1, RecycleFailure::GroupGone);
        for _ in 0..3 {
            base.recycle = stored_plan(decide(&base, now()));
        }
        assert_eq!(base.recycle.step, Step::Failed);
    }
}

#[test]
fn a_group_that_was_only_said_to_be_gone_is_not_left_at_zero() {
    for given_up_at in [Step::Releasing, Step::Unmarking] {
        let mut base = snapshot(Strategy::ScaleToZero, given_up_at, &THREE);
        base.recycle.failure = Some(RecycleFailure::GroupGone);
        let full = base.group_mut().sizes;
        base.group_mut().sizes = Sizes::ZERO;
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(base.recycle.step, Step::Restoring);
        let back = Action::Change(GroupChange::Resize { from: Sizes::ZERO, to: full });
        assert_eq!(decide(&base, now()), back);
        base.group_mut().sizes = full;
        for expected in [Step::Releasing, Step::Unmarking] {
            base.recycle = stored_plan(decide(&base, now()));
            assert_eq!(base.recycle.step, expected);
        }
        assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
    }
}

#[test]
fn zero_that_another_recycle_may_have_set_is_left_alone() {
    let zero = |failure, mark: Option<&str>| {
        let mut base = snapshot(Strategy::ScaleToZero, Step::Unmarking, &THREE);
        base.recycle.failure = failure;
        base.group_mut().sizes = Sizes::ZERO;
        if let Some(mark) = mark {
            base.group_mut().mark = Some(mark.to_owned()).filter(|mark| !mark.is_empty());
        }
        decide(&base, now())
    };
    assert_eq!(step(zero(None, None)), Step::Restoring, "a late call");
    let (refused, busy) = (RecycleFailure::Refused, RecycleFailure::Busy);
    assert_eq!(step(zero(Some(refused), Some(""))), Step::Failed);
    assert_eq!(step(zero(Some(busy), Some("v1 other"))), Step::Failed);
}

#[test]
fn an_unreachable_group_is_not_gone_and_its_cordons_time_out() {
    let mut base = replacing();
    base.group = unknown(Retry::Backoff);
    assert!(waits_for(&decide(&base, after(TIMEOUT - 1))).contains("slow down"));
    let (step, failure, why) = failed(decide(&base, after(TIMEOUT)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
    assert!(why.contains("after 20m") && why.contains("slow down"), "{why}");
    let pause = Duration::from_secs(99);
    base.group = unknown(Retry::After(pause));
    assert!(matches!(decide(&base, now()), Action::Wait { pause: found, .. } if found == pause));
    // A drain may take longer than that.
    set(&mut base, "i-1", InstanceState::Draining);
    base.settings.drain_timeout = Duration::from_secs(2 * TIMEOUT);
    assert!(waits_for(&decide(&base, after(2 * TIMEOUT - 1))).contains("slow down"));
    assert_eq!(failed(decide(&base, after(2 * TIMEOUT))).0, Step::Releasing);
    // Sizes and refreshes need the cloud: they wait for it.
    for step in [Step::Refreshing, Step::Emptying, Step::Restoring, Step::Unmarking] {
        let mut base = snapshot(Strategy::ScaleToZero, step, &THREE);
        base.group = unknown(Retry::Backoff);
        assert!(waits_for(&decide(&base, after(9 * TIMEOUT))).contains("slow down"));
    }
}

#[test]
fn cordons_are_taken_back_without_the_cloud() {
    let mut base = snapshot(Strategy::Replace, Step::Releasing, &THREE);
    base.recycle.failure = Some(RecycleFailure::TimedOut);
    set(&mut base, "i-1", InstanceState::Draining);
    base.nodes.insert("i-1".into(), cordoned("i-1"));
    base.group = unknown(Retry::Backoff);
    assert_eq!(decide(&base, now()), release_of(&base, "i-1"));
    base.nodes.insert("i-1".into(), node("i-1"));
    assert!(waits_for(&decide(&base, now())).contains("slow down"), "a refresh may be running");
}

#[test]
fn a_node_whose_instance_somebody_took_out_of_the_group_is_released_before_the_end() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Draining);
    base.nodes.insert("i-1".into(), cordoned("i-1"));
    base.group_mut().members.remove(0);
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Kept);
    assert_eq!(decide(&base, now()), release_of(&base, "i-1"));
    for end in [Step::Releasing, Step::Unmarking] {
        base.recycle.step = end;
        assert_eq!(decide(&base, now()), release_of(&base, "i-1"));
    }
    // A drain that began before this recycle belongs to another owner.
    base.recycle.started = after(5);
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
    base.recycle.started = now();
    base.nodes.remove(&InstanceId::from("i-1"));
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
}

#[test]
fn a_node_that_lingers_after_its_instance_was_terminated_stays_cordoned() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.nodes.insert("i-1".into(), cordoned("i-1"));
    base.group_mut().members.remove(0);
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Gone);
    base.recycle.step = Step::Unmarking;
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
}

#[test]
fn an_instance_protected_during_its_drain_is_skipped_and_released() {
    for begun in [InstanceState::Draining, InstanceState::Terminating] {
        for protects in [true, false] {
            let mut base = replacing();
            set(&mut base, "i-1", begun);
            drain_view(&mut base, "i-1", vec![pod()]);
            let first = &mut base.group_mut().members[0];
            if protects {
                first.protected_from_scale_in = true;
            } else {
                first.lifecycle = Lifecycle::Standby;
                base.group_mut().sizes.desired = 2;
            }
            base.recycle = stored_plan(decide(&base, now()));
            assert_eq!(base.recycle.instances[0].state, InstanceState::Kept);
            // A termination may still be executed.
            let at = if begun == InstanceState::Draining { now() } else { after(60) };
            assert_eq!(decide(&base, at), release_of(&base, "i-1"));
            base.nodes.insert("i-1".into(), node("i-1"));
            let next = stored_plan(decide(&base, at));
            assert_eq!(next.instances[1].state, InstanceState::Draining);
        }
    }
}

#[test]
fn a_recycle_whose_owner_is_deleted_goes_back_also_in_a_dry_run() {
    let cases = [
        (Strategy::Replace, Step::Planned, Step::Unmarking),
        (Strategy::Replace, Step::Replacing, Step::Releasing),
        (Strategy::InstanceRefresh, Step::Refreshing, Step::Releasing),
        (Strategy::ScaleToZero, Step::ScalingDown, Step::Restoring),
        (Strategy::ScaleToZero, Step::Emptying, Step::Restoring),
        (Strategy::ScaleToZero, Step::Restoring, Step::Restoring),
        (Strategy::ScaleToZero, Step::Refilling, Step::Releasing),
    ];
    for dry_run in [false, true] {
        for (strategy, from, to) in cases {
            let mut base = snapshot(strategy, from, &THREE);
            (base.cancelled, base.settings.dry_run) = (true, dry_run);
            let (step, failure, why) = failed(decide(&base, now()));
            assert_eq!((step, failure), (to, RecycleFailure::Cancelled));
            assert!(why.contains("deleted"), "{why}");
            base.recycle = stored_plan(decide(&base, now()));
            let again = decide(&base, after(60));
            assert!(!matches!(again, Action::Wait { .. }), "it goes on: {again:?}");
        }
        // What is at its end is not cancelled any more.
        let mut base = snapshot(Strategy::Replace, Step::Unmarking, &THREE);
        (base.cancelled, base.settings.dry_run) = (true, dry_run);
        assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
    }
}

#[test]
fn taken_up_again_at_zero_and_deleted_at_once_the_sizes_come_back() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Planned, &THREE);
    base.cancelled = true;
    base.group_mut().sizes = Sizes::ZERO;
    for expected in [Step::Unmarking, Step::Restoring] {
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(base.recycle.step, expected);
    }
    assert!(matches!(decide(&base, now()), Action::Change(GroupChange::Resize { .. })));
}

#[test]
fn a_planned_recycle_is_cancelled_in_a_dry_run_without_a_change() {
    for strategy in ALL {
        let mut base = snapshot(strategy, Step::Planned, &THREE);
        (base.cancelled, base.settings.dry_run) = (true, true);
        base.group_mut().mark = None;
        // The mark of another recycle: nothing is released.
        base.nodes.insert("i-1".into(), cordoned("i-1"));
        base.group_mut().refresh = Some(refresh("r-9", RefreshStatus::InProgress));
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(base.recycle.step, Step::Unmarking);
        let waits = decide(&base, after(1));
        assert!(matches!(waits, Action::Wait { .. }), "{waits:?}");
        base.recycle = stored_plan(decide(&base, after(60)));
        assert_eq!(base.recycle.step, Step::Failed);
        assert_eq!(base.recycle.failure, Some(RecycleFailure::Cancelled));
        assert_eq!(decide(&base, now()), Action::Over);
    }
}

fn earlier() -> crate::drain::Mark {
    let started = now() - Duration::from_secs(60);
    crate::drain::Mark { started, ..drain_mark(true) }
}

#[test]
fn taken_up_again_and_given_up_at_once_no_cordon_and_no_refresh_is_left_behind() {
    for end in [Step::Unmarking, Step::Releasing] {
        let mut base = snapshot(Strategy::Replace, end, &THREE);
        base.recycle.failure = Some(RecycleFailure::Cancelled);
        base.nodes.insert("i-1".into(), cordoned("i-1"));
        assert_eq!(decide(&base, now()), release_of(&base, "i-1"), "its turn had come before");
        // Its instance was terminated before, so it stays. An earlier drain belongs to another owner.
        base.group_mut().members.remove(0);
        let goes_on = |base: &Snapshot| !matches!(decide(base, now()), Action::Release { .. });
        assert!(goes_on(&base));
        base.nodes.insert("i-2".into(), cordoned_node("i-2", Some(earlier())));
        assert!(goes_on(&base));
    }
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Planned, &THREE);
    base.cancelled = true;
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Unmarking);
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::CancelRefresh));
    base.recycle.refresh_before = Some("r-1".to_owned());
    assert_eq!(
        decide(&base, after(60)),
        Action::Change(GroupChange::Unmark),
        "that one was there before"
    );
}

use super::*;

#[test]
fn to_zero_and_back() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    let full = base.group_mut().sizes;
    assert_eq!(
        decide(&base, now()),
        Action::Change(GroupChange::Resize { from: full, to: Sizes::ZERO })
    );
    base.group_mut().sizes = Sizes::ZERO;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Emptying);
    assert!(waits_for(&decide(&base, now())).contains("still terminating"));
    base.group_mut().hooks.push(machinist_provider::node_groups::Hook {
        name: "h".into(),
        transition: "Terminating",
        patience: Duration::from_secs(60),
    });
    assert!(waits_for(&decide(&base, now())).contains("hooks"));
    base.group_mut().members.truncate(1);
    base.group_mut().members[0].lifecycle = Lifecycle::Terminated;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Restoring);
    assert_eq!(
        decide(&base, now()),
        Action::Change(GroupChange::Resize { from: Sizes::ZERO, to: full })
    );
    base.group_mut().sizes = full;
    base.group_mut().members.clear();
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Refilling);
    for id in ["i-4", "i-5", "i-6"] {
        assert!(waits_for(&decide(&base, now())).contains("not ready"));
        base.group_mut().members.push(member(id));
        base.nodes.insert(id.into(), node(id));
    }
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
}

#[test]
fn sizes_that_somebody_sets_before_or_while_the_group_is_at_zero_are_kept() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    base.group_mut().sizes = Sizes { min: 2, max: 9, desired: 4 };
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.original, Sizes { min: 2, max: 9, desired: 4 });
    let Action::Change(GroupChange::Mark(text)) = decide(&base, now()) else {
        panic!("the text is outdated")
    };
    assert!(text.contains("2/9/4"), "{text}");

    let mut base = snapshot(Strategy::ScaleToZero, Step::Emptying, &THREE);
    base.group_mut().sizes = Sizes { min: 0, max: 2, desired: 2 };
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Restoring, "the sizes are restored already");
    let cases = [
        // found, set back to (original 1/5/3)
        ((0, 0, 0), (1, 5, 3)),
        ((0, 2, 2), (1, 2, 2)),
        ((0, 2, 0), (1, 2, 2)),
        ((4, 0, 0), (4, 5, 4)),
        ((7, 0, 0), (7, 7, 7)),
        ((2, 9, 4), (2, 9, 4)),
    ];
    for (found, back) in cases {
        let sizes = |(min, max, desired)| Sizes { min, max, desired };
        base.group_mut().sizes = sizes(found);
        let plan = decide(&base, now());
        if found == back {
            assert_eq!(step(plan), Step::Refilling);
        } else {
            let (from, to) = (sizes(found), sizes(back));
            assert_eq!(plan, Action::Change(GroupChange::Resize { from, to }));
        }
    }
}

#[test]
fn whatever_fails_at_zero_the_sizes_come_back_first() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Emptying, &THREE);
    let full = base.group_mut().sizes;
    base.group_mut().sizes = Sizes::ZERO;
    let (step, failure, _) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Restoring, RecycleFailure::TimedOut));
    base.recycle = stored_plan(decide(&base, after(20 * 60)));
    // However late it is: this is not given up.
    let late = after(20 * 60 * 1000);
    assert_eq!(
        decide(&base, late),
        Action::Change(GroupChange::Resize { from: Sizes::ZERO, to: full })
    );
    base.group_mut().sizes = full;
    base.recycle = stored_plan(decide(&base, late));
    assert_eq!(base.recycle.step, Step::Releasing);
    base.recycle = stored_plan(decide(&base, late));
    assert_eq!(decide(&base, late), Action::Change(GroupChange::Unmark));
}

#[test]
fn a_text_alone_does_not_scale_a_group_down_twice() {
    // Everything was done but taking the text off, and the status is lost.
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    base.group_mut().members = ["i-4", "i-5", "i-6"].map(member).into();
    for expected in [Step::Restoring, Step::Refilling] {
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(base.recycle.step, expected);
    }
}

#[test]
fn a_size_that_is_still_zero_is_set_back_whatever_somebody_did_to_the_others() {
    let found = Sizes { min: 0, max: 5, desired: 0 };
    let to = Sizes { min: 1, max: 5, desired: 3 };
    let back = Action::Change(GroupChange::Resize { from: found, to });
    // The status is lost, and nothing of what was there is left.
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    (base.group_mut().sizes, base.group_mut().members) = (found, Vec::new());
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Restoring);
    assert_eq!(decide(&base, now()), back);
    for end in [Step::Releasing, Step::Unmarking] {
        let mut base = snapshot(Strategy::ScaleToZero, end, &THREE);
        base.recycle.failure = Some(RecycleFailure::TimedOut);
        base.group_mut().sizes = found;
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(base.recycle.step, Step::Restoring);
        assert_eq!(decide(&base, now()), back);
    }
}

#[test]
fn a_process_suspended_after_the_plan_keeps_the_group_at_its_size() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    base.group_mut().suspended.insert("Launch".into());
    assert!(waits_for(&decide(&base, now())).contains("Launch of the group is suspended"));
    let (step, failure, _) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Restoring, RecycleFailure::TimedOut));
}

#[test]
fn instances_put_into_standby_at_zero_are_not_waited_for() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Emptying, &THREE);
    base.group_mut().sizes = Sizes::ZERO;
    for member in &mut base.group_mut().members {
        member.lifecycle = Lifecycle::Terminated;
    }
    base.group_mut().members[1].lifecycle = Lifecycle::Standby;
    assert_eq!(step(decide(&base, now())), Step::Restoring);
    base.group_mut().members[1].lifecycle = Lifecycle::Terminating;
    assert!(waits_for(&decide(&base, now())).contains("still terminating"));
}

#[test]
fn instances_count_by_their_weight() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Refilling, &THREE);
    base.recycle.original = Sizes { min: 4, max: 20, desired: 8 };
    base.group_mut().sizes = base.recycle.original;
    base.group_mut().members.clear();
    for id in ["i-4", "i-5"] {
        assert!(waits_for(&decide(&base, now())).contains("not ready"));
        base.group_mut().members.push(Member { weight: 4, ..member(id) });
        base.nodes.insert(id.into(), node(id));
    }
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
}

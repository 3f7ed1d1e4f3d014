//! To zero and back.

use super::*;

#[test]
fn to_zero_and_back() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    let full = base.group_mut().sizes;
    assert_eq!(decide(&base, now()), Plan::Do(Effect::Resize { from: full, to: Sizes::ZERO }));
    base.group_mut().sizes = Sizes::ZERO;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Emptying);
    assert!(waits_for(&decide(&base, now())).contains("still going"));
    base.group_mut().hooks.push(machinist_provider::node_groups::Hook {
        name: "h".into(),
        transition: machinist_provider::node_groups::Transition::Terminating,
        patience: Duration::from_secs(60),
        continues: true,
    });
    assert!(waits_for(&decide(&base, now())).contains("hooks"));
    // Purged or terminated is the same.
    base.group_mut().members.truncate(1);
    base.group_mut().members[0].lifecycle = Lifecycle::Terminated;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Restoring);
    assert_eq!(decide(&base, now()), Plan::Do(Effect::Resize { from: Sizes::ZERO, to: full }));
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
    assert_eq!(base.recycle.original, StoredSizes { min: 2, max: 9, desired: 4 });
    let Plan::Do(Effect::Mark(text)) = decide(&base, now()) else { panic!("the text is outdated") };
    assert!(text.contains("2/9/4"), "{text}");

    let mut base = snapshot(Strategy::ScaleToZero, Step::Emptying, &THREE);
    base.group_mut().sizes = Sizes { min: 0, max: 2, desired: 2 };
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Restoring, "somebody has brought it back already");
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
            assert_eq!(plan, Plan::Do(Effect::Resize { from, to }));
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
    assert_eq!(decide(&base, late), Plan::Do(Effect::Resize { from: Sizes::ZERO, to: full }));
    base.group_mut().sizes = full;
    base.recycle = stored_plan(decide(&base, late));
    assert_eq!(base.recycle.step, Step::Releasing);
    base.recycle = stored_plan(decide(&base, late));
    assert_eq!(decide(&base, late), Plan::Do(Effect::Unmark));
}

#[test]
fn a_text_alone_does_not_scale_a_group_down_twice() {
    // Everything was done but taking the text off, and the status is lost.
    let mut base = snapshot(Strategy::ScaleToZero, Step::ScalingDown, &THREE);
    base.group_mut().members = ["i-4", "i-5", "i-6"].map(member).into();
    assert_eq!(step(decide(&base, now())), Step::Refilling);
}

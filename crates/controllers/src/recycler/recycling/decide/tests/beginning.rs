use super::*;

fn request(strategy: Strategy) -> Request {
    Request {
        group: machinist_provider::node_groups::GroupRef::new("r", "workers"),
        requested_by: machinist_domain::key::Uid("0a1b2c3d-4e5f-6071".into()),
        strategy,
        events: 5,
    }
}

fn refuses(strategy: Strategy, change: impl Fn(&mut Snapshot)) -> Option<Refusal> {
    let mut base = snapshot(strategy, Step::Planned, &THREE);
    base.group_mut().mark = None;
    change(&mut base);
    let (nodes, own) = (base.nodes.clone(), base.own_node.clone());
    let group = base.group_mut().clone();
    begin_recycle(&request(strategy), &group, &nodes, own.as_deref(), |_| true, now()).err()
}

#[test]
fn a_plan_has_sizes_instances_and_nodes_of_the_group() {
    let mut base = snapshot(Strategy::Replace, Step::Planned, &THREE);
    base.group_mut().mark = None;
    base.group_mut().members[2].lifecycle = Lifecycle::Terminating;
    let (nodes, group) = (base.nodes.clone(), base.group_mut().clone());
    let plan = begin_recycle(&request(Strategy::Replace), &group, &nodes, None, |_| true, now());
    let plan = plan.unwrap();
    assert_eq!(plan.original, Sizes { min: 1, max: 5, desired: 3 });
    let ids: Vec<_> = plan.instances.iter().map(|one| (&*one.id, one.node.as_deref())).collect();
    assert_eq!(ids, [("i-1", Some("node-of-i-1")), ("i-2", Some("node-of-i-2"))]);
    assert_eq!(
        (plan.step, plan.started, plan.id.as_str()),
        (Step::Planned, now(), "0a1b2c3d4e5f-1794794400")
    );
}

#[test]
fn refusals_have_a_reason() {
    for strategy in ALL {
        assert_eq!(refuses(strategy, |_| {}), None);
        let empty = refuses(strategy, |s| s.group_mut().members.clear());
        assert_eq!(empty, Some(Refusal::Empty), "desired 0 has nothing to recycle");
        assert_eq!(refuses(strategy, |s| s.group_mut().deleting = true), Some(Refusal::Deleting));
        for process in ["Launch", "Terminate"] {
            let found = refuses(strategy, |s| {
                s.group_mut().suspended.insert(process.into());
            });
            assert_eq!(found, Some(Refusal::Suspended(process)));
        }
        let harmless = refuses(strategy, |s| {
            s.group_mut().suspended.insert("AZRebalance".into());
        });
        assert_eq!(harmless, None);
        let busy = refuses(strategy, |s| s.group_mut().mark = Some("v9 what is this".into()));
        assert!(matches!(busy, Some(Refusal::Busy(_))));
        let running = refuses(strategy, |s| {
            s.group_mut().refresh = Some(refresh("r-0", RefreshStatus::InProgress));
        });
        assert_eq!(running, Some(Refusal::RefreshRunning));
    }
}

#[test]
fn refusals_depend_on_the_strategy() {
    use Strategy::{InstanceRefresh, ScaleToZero};
    let protected = |s: &mut Snapshot| s.group_mut().members[1].protected_from_scale_in = true;
    let own = |s: &mut Snapshot| s.own_node = Some("node-of-i-2".into());
    let standby = |s: &mut Snapshot| s.group_mut().members[1].lifecycle = Lifecycle::Standby;
    let detached = |s: &mut Snapshot| {
        s.group_mut().members[1].lifecycle = Lifecycle::Other("Detaching".into());
    };
    let managed = |s: &mut Snapshot| s.group_mut().managed_by_eks = true;
    for change in [protected as fn(&mut Snapshot), own, standby, detached, managed] {
        assert_eq!(refuses(Strategy::Replace, change), None);
    }
    for strategy in [InstanceRefresh, ScaleToZero] {
        assert_eq!(refuses(strategy, protected), Some(Refusal::Protected("i-2".into())));
        assert_eq!(refuses(strategy, own), Some(Refusal::OwnNode("node-of-i-2".into())));
        for change in [standby as fn(&mut Snapshot), detached] {
            assert_eq!(refuses(strategy, change), Some(Refusal::OutOfService("i-2".into())));
        }
    }
    assert_eq!(refuses(ScaleToZero, managed), Some(Refusal::ManagedByEks));
    assert_eq!(refuses(InstanceRefresh, managed), None);
}

#[test]
fn a_warm_pool_is_fine_unless_it_gives_bad_instances_back() {
    let warm = |reuses: bool| {
        move |s: &mut Snapshot| {
            s.group_mut().warm_pool = Some(WarmPool { size: 1, reuses });
        }
    };
    for strategy in ALL {
        assert_eq!(refuses(strategy, warm(false)), None);
        let refused = (strategy != Strategy::InstanceRefresh).then_some(Refusal::WarmPool);
        assert_eq!(refuses(strategy, warm(true)), refused, "{strategy:?}");
    }
    // Also where it begins to do so in the middle: what goes then would come back.
    for (strategy, step) in
        [(Strategy::Replace, Step::Replacing), (Strategy::ScaleToZero, Step::ScalingDown)]
    {
        let mut base = snapshot(strategy, step, &THREE);
        warm(true)(&mut base);
        assert!(waits_for(&decide(&base, now())).contains("warm pool"));
        let (_, failure, why) = failed(decide(&base, after(20 * 60)));
        assert_eq!(failure, RecycleFailure::TimedOut);
        assert!(why.contains("InstanceRefresh"), "{why}");
    }
}

#[test]
fn a_text_that_belongs_to_no_stored_recycle_is_taken_up_again() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Planned, &THREE);
    base.group_mut().sizes = Sizes::ZERO;
    base.group_mut().members.clear();
    let group = base.group_mut().clone();
    let begin = |active: bool| {
        let request = request(Strategy::Replace);
        begin_recycle(&request, &group, &base.nodes, None, |id| active && id == "a1", now())
    };
    assert!(matches!(begin(true), Err(Refusal::Busy(_))), "a second recycler gets nothing");
    let taken = begin(false).unwrap();
    assert_eq!((taken.id.as_str(), taken.strategy), ("a1", Strategy::ScaleToZero));
    assert_eq!(taken.original, Sizes { min: 1, max: 5, desired: 3 });
    // And it brings the group back.
    base.recycle = taken;
    let mut steps = Vec::new();
    for _ in 0..3 {
        base.recycle = stored_plan(decide(&base, now()));
        steps.push(base.recycle.step);
    }
    assert_eq!(steps, [Step::ScalingDown, Step::Emptying, Step::Restoring]);
    let to = Sizes { min: 1, max: 5, desired: 3 };
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::Resize { from: Sizes::ZERO, to }));
}

#[test]
fn a_mark_of_the_command_line_is_not_taken_over() {
    let mut base = snapshot(Strategy::Replace, Step::Planned, &THREE);
    let text = super::super::super::mark::write(&base.recycle, "by-hand/user@host");
    base.group_mut().mark = Some(text);
    let group = base.group_mut().clone();
    let request = request(Strategy::Replace);
    let begun = begin_recycle(&request, &group, &base.nodes, None, |_| false, now());
    assert!(matches!(begun, Err(Refusal::Busy(_))));
}

#[test]
fn the_plan_is_on_the_group_before_anything_else_is_done() {
    for (strategy, first) in
        ALL.into_iter().zip([Step::Replacing, Step::Refreshing, Step::ScalingDown])
    {
        let mut base = snapshot(strategy, Step::Planned, &THREE);
        let text = base.group_mut().mark.take().unwrap();
        assert_eq!(decide(&base, now()), Action::Change(GroupChange::Mark(text.clone())));
        base.group_mut().mark = Some(text);
        assert_eq!(step(decide(&base, now())), first);
    }
}

#[test]
fn a_group_that_changes_before_the_text_is_written_is_planned_anew() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Planned, &THREE);
    base.group_mut().mark = None;
    base.group_mut().sizes.desired = 2;
    base.group_mut().members.pop();
    let again = stored_plan(decide(&base, now()));
    assert_eq!((again.step, again.original.desired, again.instances.len()), (Step::Planned, 2, 2));
}

#[test]
fn a_late_refusal_leaves_no_mark() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Planned, &THREE);
    base.group_mut().mark = None;
    base.group_mut().managed_by_eks = true;
    let (step, failure, why) = failed(decide(&base, now()));
    assert_eq!((step, failure), (Step::Unmarking, RecycleFailure::Refused));
    assert!(why.contains("EKS"), "{why}");
    base.recycle = stored_plan(decide(&base, now()));
    // A call that was not answered may still write the tag.
    assert!(waits_for(&decide(&base, after(59))).contains("no longer execute"));
    assert_eq!(super::tests::step(decide(&base, after(60))), Step::Failed);
}

#[test]
fn a_second_recycler_on_the_same_group_gives_up_and_leaves_the_text_of_the_first() {
    for step in [Step::Planned, Step::Replacing] {
        let mut base = snapshot(Strategy::Replace, step, &THREE);
        base.recycle.id = "b2".to_owned();
        let (_, failure, _) = failed(decide(&base, now()));
        assert_eq!(failure, RecycleFailure::Busy);
        while !base.recycle.step.is_over() {
            base.recycle = stored_plan(decide(&base, now()));
        }
        assert_eq!(base.recycle.step, Step::Failed);
    }
}

#[test]
fn a_text_that_was_taken_off_is_written_again_before_anything_is_done() {
    for (strategy, step) in
        ALL.into_iter().zip([Step::Replacing, Step::Refreshing, Step::ScalingDown])
    {
        let mut base = snapshot(strategy, step, &THREE);
        let text = base.group_mut().mark.take().unwrap();
        assert_eq!(decide(&base, now()), Action::Change(GroupChange::Mark(text)));
    }
}

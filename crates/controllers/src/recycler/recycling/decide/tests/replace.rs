use super::*;

#[test]
fn one_instance_after_the_other_is_drained_terminated_and_replaced() {
    let mut base = replacing();
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[0].state, InstanceState::Draining);
    assert_eq!(first.instances[0].node.as_deref(), Some("node-of-i-1"));
    assert!(first.instances[1..].iter().all(|one| one.state == InstanceState::Waiting));
    base.recycle = first;
    drain_view(&mut base, "i-1", vec![pod()]);
    let plan = super::super::decide(&base, now());
    assert_eq!(plan.action, Action::Drain);
    assert!(plan.drains[&InstanceId::from("i-1")].has_effects());
    drain_view(&mut base, "i-1", Vec::new());
    base.recycle = stored_plan(decide(&base, after(5)));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Terminating);
    let gone =
        Termination { instance: "i-1".into(), node: Some("node-of-i-1".into()), drained: true };
    assert_eq!(decide(&base, after(6)), Action::Terminate(gone));
    base.group_mut().members[0].lifecycle = Lifecycle::Terminating;
    assert!(waits_for(&decide(&base, after(7))).contains("not ready"));
    base.group_mut().members.remove(0);
    base.nodes.remove(&InstanceId::from("i-1"));
    base.recycle = stored_plan(decide(&base, after(8)));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Gone);
    base.group_mut().members.push(member("i-4"));
    assert!(waits_for(&decide(&base, after(9))).contains("not ready"));
    base.nodes.insert("i-4".into(), unready_node("i-4"));
    assert!(waits_for(&decide(&base, after(10))).contains("not ready"));
    base.nodes.insert("i-4".into(), node("i-4"));
    let next = stored_plan(decide(&base, after(11)));
    assert_eq!(next.instances[1].state, InstanceState::Draining);
    assert_eq!(next.step_since, after(11), "every instance restarts the timeout");
}

#[test]
fn when_all_are_gone_and_the_group_is_whole_the_text_comes_off() {
    let mut base = replacing();
    for id in THREE {
        set(&mut base, id, InstanceState::Gone);
    }
    base.group_mut().members.clear();
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
    for id in ["i-4", "i-5", "i-6"] {
        base.group_mut().members.push(member(id));
        base.nodes.insert(id.into(), node(id));
    }
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Unmarking);
    assert_eq!(decide(&base, now()), Action::Change(GroupChange::Unmark));
    base.group_mut().mark = None;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Succeeded);
    assert_eq!(decide(&base, now()), Action::Over);
}

#[test]
fn never_more_are_missing_than_may_be() {
    for max in 1..=4 {
        let mut base = snapshot(Strategy::Replace, Step::Replacing, &["i-1", "i-2", "i-3", "i-4"]);
        base.settings = Settings { max_unavailable: max, drain: false, ..base.settings };
        let mut begun = 0;
        while let Action::Store(further) = decide(&base, now()) {
            base.recycle = *further;
            begun += 1;
            // Whether it has been terminated yet or not, it is missing.
            let instances = base.recycle.instances.clone();
            let begun_ones = instances.iter().filter(|one| one.state == InstanceState::Terminating);
            for one in begun_ones {
                let members = base.group_mut().members.iter_mut();
                members
                    .filter(|m| *m.id.0 == *one.id)
                    .for_each(|m| m.lifecycle = Lifecycle::Terminating);
            }
            assert!(begun <= max);
        }
        assert_eq!(begun, max);
    }
}

#[test]
fn unavailable_instances_are_replaced_first_and_one_at_a_time() {
    let mut base = replacing();
    for id in ["i-2", "i-3"] {
        base.nodes.insert(id.into(), unready_node(id));
    }
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[1].state, InstanceState::Draining, "i-2 is not ready");
    base.recycle = first;
    drain_view(&mut base, "i-2", vec![pod()]);
    assert!(matches!(decide(&base, now()), Action::Drain), "and i-3 has to wait");
}

#[test]
fn somebody_elses_trouble_is_waited_for() {
    let mut base = replacing();
    // Not one of ours: it came while we were at it, and is not ready.
    base.group_mut().sizes.desired = 4;
    base.group_mut().members.push(member("i-9"));
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
}

#[test]
fn the_node_under_this_process_is_the_last() {
    let base = replacing().on_node("node-of-i-1");
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[0].state, InstanceState::Waiting);
    assert_eq!(first.instances[1].state, InstanceState::Draining);
    let mut base = replacing().on_node("node-of-i-1");
    base.settings.max_unavailable = 3;
    base.nodes.insert("i-1".into(), unready_node("i-1"));
    set(&mut base, "i-2", InstanceState::Terminating);
    set(&mut base, "i-3", InstanceState::Terminating);
    for member in &mut base.group_mut().members[1..] {
        member.lifecycle = Lifecycle::Terminating;
    }
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
    for (id, new) in [("i-2", "i-5"), ("i-3", "i-6")] {
        set(&mut base, id, InstanceState::Gone);
        base.group_mut().members.pop();
        base.group_mut().members.insert(0, member(new));
        base.nodes.insert(new.into(), node(new));
    }
    let last = stored_plan(decide(&base, now()));
    assert_eq!(last.instances[0].state, InstanceState::Draining);
}

#[test]
fn protected_instances_are_skipped_and_the_rest_is_replaced() {
    let mut base = replacing();
    base.group_mut().members[0].protected_from_scale_in = true;
    base.group_mut().members[1].lifecycle = Lifecycle::Standby;
    base.group_mut().sizes.desired = 2;
    base.recycle = stored_plan(decide(&base, now()));
    let states: Vec<_> = base.recycle.instances.iter().map(|one| one.state).collect();
    assert_eq!(states, [InstanceState::Kept, InstanceState::Kept, InstanceState::Waiting]);
    let next = stored_plan(decide(&base, now()));
    assert_eq!(next.instances[2].state, InstanceState::Draining);
    set(&mut base, "i-3", InstanceState::Gone);
    base.group_mut().members.pop();
    base.group_mut().members.push(member("i-4"));
    base.nodes.insert("i-4".into(), node("i-4"));
    assert_eq!(
        step(decide(&base, now())),
        Step::Unmarking,
        "those that are kept do not hold it up"
    );
}

#[test]
fn instances_that_went_by_themselves_need_nothing() {
    let mut base = replacing();
    base.group_mut().members.remove(0);
    base.group_mut().members[0].lifecycle = Lifecycle::Terminating;
    let next = stored_plan(decide(&base, now()));
    assert_eq!(next.instances[0].state, InstanceState::Gone);
    assert_eq!(next.instances[1].state, InstanceState::Terminating);
}

#[test]
fn an_instance_without_a_node_or_without_drain_is_terminated_at_once() {
    let mut base = replacing();
    base.nodes.remove(&InstanceId::from("i-1"));
    let next = stored_plan(decide(&base, now()));
    assert_eq!(next.instances[0].state, InstanceState::Terminating);
    base.recycle = next;
    let Action::Terminate(departure) = decide(&base, now()) else { panic!() };
    assert_eq!(departure.node, None);
    let mut base = replacing();
    base.settings.drain = false;
    assert_eq!(stored_plan(decide(&base, now())).instances[0].state, InstanceState::Terminating);
}

#[test]
fn a_node_that_came_late_or_was_uncordoned_is_drained_first() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    let back = stored_plan(decide(&base, now()));
    assert_eq!(back.instances[0].state, InstanceState::Draining);
    base.nodes.insert("i-1".into(), cordoned_node("i-1", None));
    assert!(matches!(decide(&base, now()), Action::Terminate(_)));
}

#[test]
fn a_termination_that_never_happens_times_out() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.nodes.insert("i-1".into(), cordoned_node("i-1", None));
    let (step, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
    assert!(why.contains("instance i-1 cannot be terminated"), "{why}");
    let mut base = replacing();
    base.group_mut().mark = None;
    assert_eq!(failed(decide(&base, after(20 * 60))).1, RecycleFailure::TimedOut);
}

#[test]
fn sizes_that_somebody_else_sets_meanwhile_hold() {
    let mut base = replacing();
    base.group_mut().sizes = Sizes { min: 0, max: 5, desired: 0 };
    base.group_mut().members.clear();
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
    let mut base = replacing();
    base.group_mut().sizes.desired = 5;
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
}

#[test]
fn suspended_in_the_middle_nothing_more_is_begun_and_the_reason_is_said() {
    let mut base = replacing();
    base.group_mut().suspended.insert("Launch".into());
    let plan = decide(&base, now());
    assert!(waits_for(&plan).contains("Launch of the group is suspended"));
    let (_, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!(failure, RecycleFailure::TimedOut);
    assert!(why.contains("Launch"), "{why}");
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.group_mut().suspended.insert("Terminate".into());
    assert!(waits_for(&decide(&base, now())).contains("Terminate of the group is suspended"));
    // Drained, and nothing would come in its place: it stays.
    base.group_mut().suspended = ["Launch".into()].into();
    assert!(waits_for(&decide(&base, now())).contains("Launch of the group is suspended"));
    let (step, failure, _) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
}

#[test]
fn a_drain_that_a_budget_blocks_ends_the_recycle_and_the_node_gets_its_pods_back() {
    let mut base = replacing();
    base.settings.drain_timeout = Duration::from_secs(60);
    set(&mut base, "i-1", InstanceState::Draining);
    drain_view(&mut base, "i-1", vec![pod()]);
    base.recycle.message = Some("node-of-i-1: d/p: the budget b allows none".to_owned());
    assert!(matches!(decide(&base, after(59)), Action::Drain));
    let (step, failure, why) = failed(decide(&base, after(60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::DrainTimedOut));
    assert!(
        why.contains("node-of-i-1") && why.contains("within 1m") && why.contains("budget b"),
        "{why}"
    );
    base.recycle = stored_plan(decide(&base, after(60)));
    let release =
        Action::Release { node: base.nodes[&InstanceId::from("i-1")].meta.clone(), uncordon: true };
    assert_eq!(decide(&base, after(61)), release);
    base.nodes.insert("i-1".into(), node("i-1"));
    assert_eq!(super::tests::step(decide(&base, after(62))), Step::Unmarking);
}

#[test]
fn a_cordon_that_was_there_before_stays() {
    let mut base = snapshot(Strategy::Replace, Step::Releasing, &THREE);
    base.recycle.failure = Some(RecycleFailure::TimedOut);
    set(&mut base, "i-1", InstanceState::Draining);
    base.nodes.insert("i-1".into(), cordoned_node("i-1", Some(drain_mark(false))));
    assert!(matches!(decide(&base, now()), Action::Release { uncordon: false, .. }));
    // A Node is not released if its instance is terminating, or if another drain cordoned it.
    let started = base.recycle.started - Duration::from_secs(1);
    let theirs = crate::drain::Mark { started, cordoned: true };
    base.nodes.insert("i-2".into(), cordoned_node("i-2", Some(theirs)));
    base.group_mut().members[0].lifecycle = Lifecycle::Terminating;
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
}

#[test]
fn instances_in_standby_do_not_count_towards_the_size() {
    let mut base = snapshot(Strategy::Replace, Step::Replacing, &["i-1", "i-2", "i-3", "i-4"]);
    base.group_mut().members[3].lifecycle = Lifecycle::Standby;
    set(&mut base, "i-4", InstanceState::Kept);
    // Another instance came in its place, and is not ready yet: one is missing.
    base.group_mut().members.push(member("i-5"));
    base.nodes.insert("i-5".into(), unready_node("i-5"));
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
    base.nodes.insert("i-5".into(), node("i-5"));
    let next = stored_plan(decide(&base, now()));
    assert_eq!(next.instances[0].state, InstanceState::Draining);
    // Nor is the group whole while nothing but the one in Standby is left of it.
    for id in THREE {
        set(&mut base, id, InstanceState::Gone);
    }
    base.group_mut().members.retain(|member| member.lifecycle == Lifecycle::Standby);
    base.group_mut().sizes.desired = 1;
    assert!(waits_for(&decide(&base, now())).contains("not ready"));
}

#[test]
fn places_count_by_the_weight_of_instances() {
    let mut base = replacing();
    base.group_mut().sizes = Sizes { min: 3, max: 30, desired: 12 };
    for member in &mut base.group_mut().members {
        member.weight = 4;
    }
    let next = stored_plan(decide(&base, now()));
    assert_eq!(next.instances[0].state, InstanceState::Draining, "nothing is missing");
    base.recycle = next;
    drain_view(&mut base, "i-1", vec![pod()]);
    assert!(matches!(decide(&base, now()), Action::Drain), "the next has to wait");
    for id in THREE {
        set(&mut base, id, InstanceState::Gone);
    }
    base.group_mut().members = vec![Member { weight: 12, ..member("i-9") }];
    base.nodes.insert("i-9".into(), node("i-9"));
    assert_eq!(step(decide(&base, now())), Step::Unmarking, "one large one is enough");
}

#[test]
fn a_new_node_that_never_comes_ends_the_recycle_from_the_stored_time() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Gone);
    base.group_mut().members.remove(0);
    assert!(waits_for(&decide(&base, after(20 * 60 - 1))).contains("not ready"));
    let (step, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
    assert!(why.contains("after 20m"), "{why}");
}

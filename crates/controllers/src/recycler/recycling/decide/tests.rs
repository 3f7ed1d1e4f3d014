//! Every step of every strategy, and everything odd that a group may do meanwhile.

use std::collections::HashMap;
use std::sync::Arc;

use machinist_api::event_recycler::recycle::{InstanceState, Sizes as StoredSizes};
use machinist_domain::drain::Pod;
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::{
    InstanceId, Lifecycle, Process, Refresh, RefreshId, RefreshPreferences, RefreshStatus, Sizes,
};

use super::super::begin::{Request, begin as begin_recycle};
use super::super::plan::Departure;
use super::super::samples::*;
use super::super::snapshot::{Node, Settings};
use super::*;
use crate::machine::drain;
use crate::machine::drain::snapshot::Sight as Seen;

pub(super) const THREE: [&str; 3] = ["i-1", "i-2", "i-3"];
pub(super) const ALL: [Strategy; 3] =
    [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero];

pub(super) fn stored_plan(plan: Plan) -> Recycle {
    match plan {
        Plan::Store(recycle) => *recycle,
        other => panic!("not stored: {other:?}"),
    }
}

pub(super) fn step(plan: Plan) -> Step {
    stored_plan(plan).step
}

pub(super) fn waits_for(plan: &Plan) -> &str {
    match plan {
        Plan::Wait { why, .. } => why,
        other => panic!("does not wait: {other:?}"),
    }
}

pub(super) fn failed(plan: Plan) -> (Step, RecycleFailure, String) {
    let recycle = stored_plan(plan);
    (recycle.step, recycle.failure.unwrap(), recycle.message.unwrap())
}

pub(super) fn set(snapshot: &mut Snapshot, id: &str, state: InstanceState) {
    let since = snapshot.recycle.step_since;
    for one in snapshot.recycle.instances.iter_mut().filter(|one| one.id == id) {
        (one.state, one.since) = (state, Some(since));
    }
}

pub(super) fn replacing() -> Snapshot {
    snapshot(Strategy::Replace, Step::Replacing, &THREE)
}

/// A drain of a cordoned Node with `pods` on it.
pub(super) fn drain_view(snapshot: &mut Snapshot, id: &str, pods: Vec<Pod>) {
    let key = InstanceId::from(id);
    let node = snapshot.nodes.get_mut(&key).unwrap();
    (node.cordoned, node.mark) = (true, Some(drain_mark(true)));
    let subject = drain::Subject {
        uid: node.meta.uid.clone(),
        node_ref: None,
        provider_id: None,
        hooks: Box::default(),
        excluded: false,
        forced: false,
        stored: None,
    };
    let timings = MachineTimings { drain: Duration::MAX, ..MachineTimings::default() };
    let mut view = drain::View::new(subject, timings, HashMap::new());
    view.subject.node_ref = Some(crate::kinds::NodeRef {
        name: node.meta.key.name.clone(),
        uid: node.meta.uid.clone(),
    });
    view.node = Seen::Known(Some(drain::snapshot::Node {
        meta: node.meta.clone(),
        control_plane: false,
        cordoned: true,
        unreachable: false,
        mark: node.mark,
        volumes_attached: Box::default(),
    }));
    view.pods = Seen::Known(pods);
    view.orphaned = Seen::Known(std::collections::BTreeSet::new());
    view.volumes = Seen::Known(Vec::new());
    snapshot.drains.insert(key, view);
}

pub(super) fn pod() -> Pod {
    let wire = serde_json::json!({
        "metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": {"phase": "Running"},
    });
    Pod::of(&serde_json::from_value(wire).unwrap())
}

// The beginning.

fn request(strategy: Strategy) -> Request {
    Request {
        group: machinist_provider::node_groups::GroupRef::new("r", "workers"),
        asked_by: machinist_domain::key::Uid("0a1b2c3d-4e5f-6071".into()),
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
    assert_eq!(plan.original, StoredSizes { min: 1, max: 5, desired: 3 });
    let ids: Vec<_> = plan.instances.iter().map(|one| (&*one.id, one.node.as_deref())).collect();
    assert_eq!(ids, [("i-1", Some("node-of-i-1")), ("i-2", Some("node-of-i-2"))]);
    assert_eq!(
        (plan.step, plan.started, plan.id.as_str()),
        (Step::Planned, now(), "0a1b2c3d4e5f-1794794400")
    );
}

#[test]
fn what_cannot_be_recycled_is_refused_with_a_reason() {
    for strategy in ALL {
        assert_eq!(refuses(strategy, |_| {}), None);
        let empty = refuses(strategy, |s| s.group_mut().members.clear());
        assert_eq!(empty, Some(Refusal::Empty), "desired 0 has nothing to recycle");
        assert_eq!(refuses(strategy, |s| s.group_mut().deleting = true), Some(Refusal::Deleting));
        for process in [Process::Launch, Process::Terminate] {
            let found = refuses(strategy, |s| {
                s.group_mut().suspended.insert(process.clone());
            });
            assert_eq!(found, Some(Refusal::Suspended(process)));
        }
        let harmless = refuses(strategy, |s| {
            s.group_mut().suspended.insert(Process::Other("AZRebalance".into()));
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
fn what_only_some_strategies_can_do_is_refused_to_the_others() {
    use Strategy::{InstanceRefresh, ScaleToZero};
    let protected = |s: &mut Snapshot| s.group_mut().members[1].protected_from_scale_in = true;
    let own = |s: &mut Snapshot| s.own_node = Some("node-of-i-2".into());
    let warm = |s: &mut Snapshot| {
        s.group_mut().warm_pool = Some(machinist_provider::node_groups::WarmPool {
            size: 1,
            min: 1,
            state: "Stopped".into(),
            reuses: true,
        });
    };
    let managed = |s: &mut Snapshot| s.group_mut().managed_by_eks = true;
    for change in [protected as fn(&mut Snapshot), own, warm, managed] {
        assert_eq!(refuses(Strategy::Replace, change), None);
    }
    for strategy in [InstanceRefresh, ScaleToZero] {
        assert_eq!(refuses(strategy, protected), Some(Refusal::Protected("i-2".into())));
        assert_eq!(refuses(strategy, own), Some(Refusal::OwnNode("node-of-i-2".into())));
    }
    assert_eq!(refuses(ScaleToZero, warm), Some(Refusal::WarmPool));
    assert_eq!(refuses(ScaleToZero, managed), Some(Refusal::ManagedByEks));
    assert_eq!((refuses(InstanceRefresh, warm), refuses(InstanceRefresh, managed)), (None, None));
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
    assert_eq!(taken.original, StoredSizes { min: 1, max: 5, desired: 3 });
    // And it brings the group back.
    base.recycle = taken;
    let mut steps = Vec::new();
    for _ in 0..3 {
        base.recycle = stored_plan(decide(&base, now()));
        steps.push(base.recycle.step);
    }
    assert_eq!(steps, [Step::ScalingDown, Step::Emptying, Step::Restoring]);
    let to = Sizes { min: 1, max: 5, desired: 3 };
    assert_eq!(decide(&base, now()), Plan::Do(Effect::Resize { from: Sizes::ZERO, to }));
}

#[test]
fn somebody_who_recycles_by_hand_is_not_overtaken() {
    let mut base = snapshot(Strategy::Replace, Step::Planned, &THREE);
    let text = super::super::mark::write(&base.recycle, "somebody@somewhere");
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
        assert_eq!(decide(&base, now()), Plan::Do(Effect::Mark(text.clone())));
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
fn what_is_refused_late_ends_without_a_trace() {
    let mut base = snapshot(Strategy::ScaleToZero, Step::Planned, &THREE);
    base.group_mut().mark = None;
    base.group_mut().managed_by_eks = true;
    let (step, failure, why) = failed(decide(&base, now()));
    assert_eq!((step, failure), (Step::Unmarking, RecycleFailure::Refused));
    assert!(why.contains("EKS"), "{why}");
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(super::tests::step(decide(&base, now())), Step::Failed);
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
        assert_eq!(decide(&base, now()), Plan::Do(Effect::Mark(text)));
    }
}

// Replace.

#[test]
fn one_instance_after_the_other_is_drained_terminated_and_replaced() {
    let mut base = replacing();
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[0].state, InstanceState::Draining);
    assert_eq!(first.instances[0].node.as_deref(), Some("node-of-i-1"));
    assert!(first.instances[1..].iter().all(|one| one.state == InstanceState::Waiting));
    base.recycle = first;
    drain_view(&mut base, "i-1", vec![pod()]);
    let Plan::Do(Effect::Drain(drains)) = decide(&base, now()) else { panic!("not drained") };
    assert_eq!(drains[0].0, InstanceId::from("i-1"));
    drain_view(&mut base, "i-1", Vec::new());
    base.recycle = stored_plan(decide(&base, after(5)));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Terminating);
    let gone =
        Departure { instance: "i-1".into(), node: Some("node-of-i-1".into()), drained: true };
    assert_eq!(decide(&base, after(6)), Plan::Do(Effect::Terminate(gone)));
    base.group_mut().members[0].lifecycle = Lifecycle::Terminating;
    assert!(waits_for(&decide(&base, after(7))).contains("not whole"));
    base.group_mut().members.remove(0);
    base.nodes.remove(&InstanceId::from("i-1"));
    base.recycle = stored_plan(decide(&base, after(8)));
    assert_eq!(base.recycle.instances[0].state, InstanceState::Gone);
    // The new one comes, and is waited for until its Node is ready.
    base.group_mut().members.push(member("i-4"));
    assert!(waits_for(&decide(&base, after(9))).contains("not whole"));
    base.nodes.insert("i-4".into(), Node { ready: false, ..node("i-4") });
    assert!(waits_for(&decide(&base, after(10))).contains("not whole"));
    base.nodes.insert("i-4".into(), node("i-4"));
    let next = stored_plan(decide(&base, after(11)));
    assert_eq!(next.instances[1].state, InstanceState::Draining);
    assert_eq!(next.step_since, after(11), "the time begins anew with every instance");
}

#[test]
fn when_all_are_gone_and_the_group_is_whole_the_text_comes_off() {
    let mut base = replacing();
    for id in THREE {
        set(&mut base, id, InstanceState::Gone);
    }
    base.group_mut().members.clear();
    assert!(waits_for(&decide(&base, now())).contains("not whole"));
    for id in ["i-4", "i-5", "i-6"] {
        base.group_mut().members.push(member(id));
        base.nodes.insert(id.into(), node(id));
    }
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Unmarking);
    assert_eq!(decide(&base, now()), Plan::Do(Effect::Unmark));
    base.group_mut().mark = None;
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(base.recycle.step, Step::Succeeded);
    assert_eq!(decide(&base, now()), Plan::Over);
}

#[test]
fn never_more_are_missing_than_may_be() {
    for max in 1..=4 {
        let mut base = snapshot(Strategy::Replace, Step::Replacing, &["i-1", "i-2", "i-3", "i-4"]);
        base.settings = Settings { max_unavailable: max, drain: false, ..base.settings };
        let mut begun = 0;
        while let Plan::Store(further) = decide(&base, now()) {
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
fn what_does_not_work_anyway_goes_first_and_one_at_a_time() {
    let mut base = replacing();
    for id in ["i-2", "i-3"] {
        base.nodes.insert(id.into(), Node { ready: false, ..node(id) });
    }
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[1].state, InstanceState::Draining, "i-2 is not ready");
    base.recycle = first;
    drain_view(&mut base, "i-2", vec![pod()]);
    assert!(matches!(decide(&base, now()), Plan::Do(Effect::Drain(_))), "and i-3 has to wait");
}

#[test]
fn somebody_elses_trouble_is_waited_for() {
    let mut base = replacing();
    // Not one of ours: it came while we were at it, and is not ready.
    base.group_mut().sizes.desired = 4;
    base.group_mut().members.push(member("i-9"));
    assert!(waits_for(&decide(&base, now())).contains("not whole"));
}

#[test]
fn the_node_under_this_process_is_the_last() {
    let base = replacing().on_node("node-of-i-1");
    let first = stored_plan(decide(&base, now()));
    assert_eq!(first.instances[0].state, InstanceState::Waiting);
    assert_eq!(first.instances[1].state, InstanceState::Draining);
    // Also where several may be missing, and where it does not work.
    let mut base = replacing().on_node("node-of-i-1");
    base.settings.max_unavailable = 3;
    base.nodes.insert("i-1".into(), Node { ready: false, ..node("i-1") });
    set(&mut base, "i-2", InstanceState::Terminating);
    set(&mut base, "i-3", InstanceState::Terminating);
    for member in &mut base.group_mut().members[1..] {
        member.lifecycle = Lifecycle::Terminating;
    }
    assert!(waits_for(&decide(&base, now())).contains("not whole"));
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
fn what_somebody_wants_to_keep_is_kept_and_the_rest_goes() {
    let mut base = replacing();
    base.group_mut().members[0].protected_from_scale_in = true;
    base.group_mut().members[1].lifecycle = Lifecycle::Standby;
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
    let Plan::Do(Effect::Terminate(departure)) = decide(&base, now()) else { panic!() };
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
    base.nodes.insert("i-1".into(), Node { cordoned: true, ..node("i-1") });
    assert!(matches!(decide(&base, now()), Plan::Do(Effect::Terminate(_))));
}

#[test]
fn what_aws_never_does_is_given_up() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.nodes.insert("i-1".into(), Node { cordoned: true, ..node("i-1") });
    let (step, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
    assert!(why.contains("cannot be terminated"), "{why}");
    let mut base = replacing();
    base.group_mut().mark = None;
    assert_eq!(failed(decide(&base, after(20 * 60))).1, RecycleFailure::TimedOut);
}

#[test]
fn sizes_that_somebody_else_sets_meanwhile_hold() {
    // To zero: nothing new is waited for.
    let mut base = replacing();
    base.group_mut().sizes = Sizes { min: 0, max: 5, desired: 0 };
    base.group_mut().members.clear();
    base.recycle = stored_plan(decide(&base, now()));
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
    // Larger: the new ones are waited for.
    let mut base = replacing();
    base.group_mut().sizes.desired = 5;
    assert!(waits_for(&decide(&base, now())).contains("not whole"));
}

#[test]
fn suspended_in_the_middle_nothing_more_is_begun_and_the_reason_is_said() {
    let mut base = replacing();
    base.group_mut().suspended.insert(Process::Launch);
    let plan = decide(&base, now());
    assert!(waits_for(&plan).contains("Launch of the group is suspended"));
    let (_, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!(failure, RecycleFailure::TimedOut);
    assert!(why.contains("Launch"), "{why}");
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Terminating);
    base.group_mut().suspended.insert(Process::Terminate);
    assert!(waits_for(&decide(&base, now())).contains("Terminate of the group is suspended"));
    // Drained, and nothing would come in its place: it stays.
    base.group_mut().suspended = [Process::Launch].into();
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
    assert!(matches!(decide(&base, after(59)), Plan::Do(Effect::Drain(_))));
    let (step, failure, why) = failed(decide(&base, after(60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::DrainTimedOut));
    assert!(
        why.contains("node-of-i-1") && why.contains("within 1m") && why.contains("budget b"),
        "{why}"
    );
    base.recycle = stored_plan(decide(&base, after(60)));
    let node = base.nodes[&InstanceId::from("i-1")].meta.clone();
    let release = Plan::Do(Effect::Release { node, uncordon: true });
    assert_eq!(decide(&base, after(61)), release);
    base.nodes.insert("i-1".into(), node_of("i-1"));
    assert_eq!(super::tests::step(decide(&base, after(62))), Step::Unmarking);
}

fn node_of(id: &str) -> Node {
    node(id)
}

#[test]
fn a_cordon_that_was_there_before_stays() {
    let mut base = snapshot(Strategy::Replace, Step::Releasing, &THREE);
    base.recycle.failure = Some(RecycleFailure::TimedOut);
    set(&mut base, "i-1", InstanceState::Draining);
    base.nodes.insert(
        "i-1".into(),
        Node { cordoned: true, mark: Some(drain_mark(false)), ..node("i-1") },
    );
    assert!(matches!(decide(&base, now()), Plan::Do(Effect::Release { uncordon: false, .. })));
    // Nor is a Node touched whose instance goes, or whose turn had not come.
    base.nodes
        .insert("i-2".into(), Node { cordoned: true, mark: Some(drain_mark(true)), ..node("i-2") });
    base.group_mut().members[0].lifecycle = Lifecycle::Terminating;
    assert_eq!(step(decide(&base, now())), Step::Unmarking);
}

#[test]
fn a_new_node_that_never_comes_ends_the_recycle_from_the_stored_time() {
    let mut base = replacing();
    set(&mut base, "i-1", InstanceState::Gone);
    base.group_mut().members.remove(0);
    assert!(waits_for(&decide(&base, after(20 * 60 - 1))).contains("not whole"));
    let (step, failure, why) = failed(decide(&base, after(20 * 60)));
    assert_eq!((step, failure), (Step::Releasing, RecycleFailure::TimedOut));
    assert!(why.contains("after 20m"), "{why}");
}

// Instance refresh.

fn refresh(id: &str, status: RefreshStatus) -> Refresh {
    Refresh {
        id: RefreshId(Arc::from(id)),
        status,
        percentage: 30,
        reason: Some("because".to_owned()),
        started: None,
    }
}

#[test]
fn a_refresh_is_started_once_followed_and_ended() {
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    base.recycle.refresh_before = Some("r-0".to_owned());
    base.group_mut().mark = Some(base.text());
    base.group_mut().refresh = Some(refresh("r-0", RefreshStatus::Successful));
    let start = Plan::Do(Effect::StartRefresh(RefreshPreferences { min_healthy: 66 }));
    assert_eq!(decide(&base, now()), start, "an earlier refresh is not ours");
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    assert!(waits_for(&decide(&base, now())).contains("r-1 is at 30%"));
    base.group_mut().members.remove(0);
    let next = stored_plan(decide(&base, after(60)));
    assert_eq!((next.instances[0].state, next.step_since), (InstanceState::Gone, after(60)));
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::Successful));
    assert_eq!(step(decide(&base, now())), Step::Refilling);
}

#[test]
fn a_refresh_that_fails_or_takes_too_long_is_given_up_and_stopped() {
    for status in [RefreshStatus::Failed, RefreshStatus::Cancelled, RefreshStatus::Cancelling] {
        let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
        base.group_mut().refresh = Some(refresh("r-1", status));
        let (step, failure, why) = failed(decide(&base, now()));
        assert_eq!((step, failure), (Step::Releasing, RecycleFailure::RefreshFailed));
        assert!(why.contains("because"), "{why}");
        base.recycle = stored_plan(decide(&base, now()));
        assert_eq!(super::tests::step(decide(&base, now())), Step::Unmarking);
    }
    let mut base = snapshot(Strategy::InstanceRefresh, Step::Refreshing, &THREE);
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::InProgress));
    base.recycle = stored_plan(decide(&base, after(20 * 60)));
    assert_eq!(decide(&base, after(20 * 60)), Plan::Do(Effect::CancelRefresh));
    base.group_mut().refresh = Some(refresh("r-1", RefreshStatus::Cancelling));
    assert_eq!(step(decide(&base, after(20 * 60))), Step::Unmarking);
}

// To zero and back.

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

// Whatever the strategy.

#[test]
fn a_dry_run_rests_at_every_step() {
    let steps =
        [Step::Planned, Step::Replacing, Step::ScalingDown, Step::Restoring, Step::Unmarking];
    for step in steps {
        let mut base = snapshot(Strategy::ScaleToZero, step, &THREE);
        base.settings.dry_run = true;
        assert!(waits_for(&decide(&base, after(9999))).contains("dryRun"));
    }
}

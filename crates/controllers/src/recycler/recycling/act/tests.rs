use std::sync::Arc;
use std::time::Duration;

use machinist_api::event_recycler::recycle::{InstanceState, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::key::Uid;
use machinist_domain::observed::Observed;
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{Group, Lifecycle, WarmPool};
use machinist_runtime::clock::{Clock as _, ManualClock};

use super::super::decide::decide;
use super::super::samples::{drain_view, now, snapshot, without_drains};
use super::*;
use crate::recycler::tests::cloud::{FakeCloud, recycling};

const TWO: [&str; 2] = ["i-1", "i-2"];

enum Now {
    Like(Box<Group>),
    Gone,
    Unknown(CloudError),
}

/// The group has changed like this since the decision. Returns the outcome and the calls to the cloud.
async fn done(effect: Action, now: Now, wanted: bool) -> (Outcome, Vec<String>) {
    let cloud = Arc::<FakeCloud>::default();
    let group = GroupRef::new("r", "workers");
    match now {
        Now::Like(now) => cloud.put(group, Ok(*now)),
        Now::Gone => {}
        Now::Unknown(error) => cloud.put(group, Err(error)),
    }
    let (recycling, writer) = recycling(&cloud, Arc::<ManualClock>::default());
    let before = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    let (key, wanted) = (ObjectKey::new("", "er"), std::future::ready(Ok(wanted)));
    let outcome = recycling.act(&before, &without_drains(effect), &key, wanted, &writer).await;
    (outcome, cloud.calls())
}

fn termination(node: Option<&str>) -> Action {
    let node = node.map(Arc::from);
    Action::Terminate(Termination { instance: "i-1".into(), node, drained: true })
}

fn changed(change: impl FnOnce(&mut Group)) -> Now {
    let mut snapshot = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    change(snapshot.group_mut());
    Now::Like(Box::new(snapshot.group_mut().clone()))
}

#[tokio::test]
async fn a_group_is_described_directly_before_a_termination() {
    let (outcome, calls) = done(termination(None), changed(|_| {}), true).await;
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(calls, ["describe r/workers", "r/workers: terminate i-1"]);
}

#[tokio::test]
async fn a_changed_group_prevents_a_termination() {
    type Change = fn(&mut Group);
    let cases: [(Change, &str); 6] = [
        (|group| group.suspended = ["Launch".into()].into(), "Launch"),
        (|group| group.suspended = ["Terminate".into()].into(), "Terminate"),
        (|group| group.members[0].protected_from_scale_in = true, "spared"),
        (|group| group.members[0].lifecycle = Lifecycle::Standby, "spared"),
        (|group| group.members[0].lifecycle = Lifecycle::Other("Detaching".into()), "spared"),
        (
            |group| {
                group.warm_pool = Some(WarmPool { size: 1, reuses: true });
            },
            "warm pool",
        ),
    ];
    for (change, why) in cases {
        let (outcome, calls) = done(termination(None), changed(change), true).await;
        assert_eq!(outcome, Outcome::Outdated, "{why}");
        assert_eq!(calls, ["describe r/workers"], "{why}");
    }
    // A change of another instance does not matter.
    let protected = changed(|group| group.members[1].protected_from_scale_in = true);
    assert_eq!(done(termination(None), protected, true).await.0, Outcome::Done);
}

#[tokio::test]
async fn a_group_that_is_gone_or_unknown_prevents_a_termination() {
    let (outcome, calls) = done(termination(None), Now::Gone, true).await;
    assert_eq!(outcome, Outcome::Outdated);
    assert_eq!(calls.len(), 1);
    let denied = CloudError::new(ErrorClass::Unauthorised, "no");
    let (outcome, calls) = done(termination(None), Now::Unknown(denied), true).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert_eq!(calls.len(), 1);
}

#[tokio::test]
async fn an_unreadable_node_or_an_owner_without_the_recycle_prevents_a_termination() {
    let (outcome, calls) = done(termination(Some("node-of-i-1")), changed(|_| {}), true).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert!(calls.is_empty(), "{calls:?}");
    let (outcome, calls) = done(termination(None), changed(|_| {}), false).await;
    assert_eq!(outcome, Outcome::Outdated);
    assert!(calls.is_empty(), "{calls:?}");
}

#[tokio::test]
async fn a_group_with_the_mark_of_another_recycle_is_not_marked() {
    let mark = || Action::Change(GroupChange::Mark("text".to_owned()));
    let ours = changed(|_| {});
    let none = changed(|group| group.mark = None);
    for free in [ours, none] {
        let (outcome, calls) = done(mark(), free, true).await;
        assert_eq!((outcome, calls.len()), (Outcome::Done, 2));
    }
    let theirs = changed(|group| group.mark = Some("v1 other".to_owned()));
    let (outcome, calls) = done(mark(), theirs, true).await;
    assert_eq!(outcome, Outcome::Outdated);
    assert_eq!(calls, ["describe r/workers"]);
}

#[tokio::test]
async fn a_wait_for_volumes_is_remembered_until_it_ends() {
    let clock = Arc::<ManualClock>::default();
    let (recycling, _) = recycling(&Arc::default(), clock.clone());
    let mut base = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    base.recycle.instances[0].state = InstanceState::Draining;
    drain_view(&mut base, "i-1", Vec::new());
    let mut since = |volumes: &[&str]| {
        let view = base.drains.values_mut().next().unwrap();
        view.volumes = Observed::Present(volumes.iter().map(|name| Arc::from(*name)).collect());
        recycling.remember(&base, &decide(&base, now()));
        clock.advance(Duration::from_secs(1));
        let waits = recycling.volume_waits.lock();
        waits.live(clock.uptime()).next().map(|(_, (since, _))| *since)
    };
    let first = since(&["a", "b"]);
    assert!(first.is_some());
    assert_eq!(since(&["a", "b"]), first, "the same volumes");
    assert!(since(&["a"]) > first, "a detached volume restarts the timeout");
    assert_eq!(since(&[]), None, "it is over, and the next step is stored");
}

/// Such as that of a Node whose instance was terminated meanwhile.
#[tokio::test]
async fn a_wait_for_volumes_that_is_not_continued_is_released() {
    let clock = Arc::<ManualClock>::default();
    let (recycling, _) = recycling(&Arc::default(), clock.clone());
    let mut base = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    base.recycle.instances[0].state = InstanceState::Draining;
    drain_view(&mut base, "i-1", Vec::new());
    let waiting = |node: usize| {
        let view = base.drains.values_mut().next().unwrap();
        view.subject.uid = Uid(format!("node-{node}").into());
        view.volumes = Observed::Present(vec!["a".into()]);
        recycling.remember(&base, &decide(&base, now()));
        clock.advance(Duration::from_secs(60));
        recycling.volume_waits.lock().live(clock.uptime()).count()
    };
    let most = (0..500).map(waiting).max();
    assert_eq!(most, Some(59), "those of the last hour");
}

#[tokio::test]
async fn refused_evictions_are_forgotten_when_the_drain_is_over() {
    let (recycling, writer) = recycling(&Arc::default(), Arc::<ManualClock>::default());
    let mut base = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    base.recycle.instances[0].state = InstanceState::Draining;
    drain_view(&mut base, "i-1", Vec::new());
    let view = base.drains.values_mut().next().unwrap();
    let subject = drain::Subject { node_ref: None, ..view.subject.clone() };
    let is_known = async || !recycling.drainer.observe(subject.clone()).await.first_reconcile;
    view.volumes = Observed::Present(vec!["a".into()]);
    let plan = decide(&base, now());
    let waiting = plan.drains.values().next().unwrap();
    let view = base.drains.values_mut().next().unwrap();
    recycling.drainer.act(view, waiting, &writer).await;
    recycling.remember(&base, &plan);
    assert!(is_known().await, "it goes on");
    base.drains.values_mut().next().unwrap().volumes = Observed::Present(Vec::new());
    recycling.remember(&base, &decide(&base, now()));
    assert!(!is_known().await);
}

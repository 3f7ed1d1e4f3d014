use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use machinist_api::names::{ANNOTATION_DRAIN, LABEL_CONTROL_PLANE};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Failure, Retry};
use machinist_runtime::cache::kind::Kind as _;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::drain::plan::Outcome;
use crate::drain::pod::Termination;
use crate::drain::snapshot::{Query, StoredStep, Subject};
use crate::drain::{Attempt, Limit, Timeout};
use crate::kinds::{self, Hook, NodeRef, Nodes};

const NOW: i64 = 1_000_000;

pub(in crate::drain) fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW - seconds).unwrap()
}

pub(in crate::drain) struct Node {
    pub(in crate::drain) control_plane: bool,
    pub(in crate::drain) cordoned: bool,
    pub(in crate::drain) unreachable: bool,
    pub(in crate::drain) mark: Option<Mark>,
}

pub(in crate::drain) fn node() -> Node {
    let mark = Some(Mark { started: ago(60), cordoned: true });
    Node { control_plane: false, cordoned: true, unreachable: false, mark }
}

impl Node {
    pub(in crate::drain) fn seen(&self) -> Observed<Arc<kinds::Node>> {
        let mark = self.mark.map(|mark| mark.to_string());
        let ready = if self.unreachable { "Unknown" } else { "True" };
        let mut node = json!({
            "metadata": {"name": "n", "uid": "node", "resourceVersion": "1"},
            "spec": {"unschedulable": self.cordoned},
            "status": {"conditions": [
                {"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-16T01:00:00Z"},
            ]},
        });
        if self.control_plane {
            node["metadata"]["labels"] = json!({LABEL_CONTROL_PLANE: ""});
        }
        if let Some(mark) = mark {
            node["metadata"]["annotations"] = json!({ANNOTATION_DRAIN: mark});
        }
        Observed::Present(Arc::new(Nodes.project(serde_json::from_value(node).unwrap())))
    }
}

pub(in crate::drain) fn pod(name: &str) -> Pod {
    Pod {
        key: ObjectKey::new("ns", name),
        uid: Uid(name.into()),
        mirror: false,
        daemon_set: None,
        finished: false,
        priority: 0,
        termination: None,
        claims: Box::default(),
    }
}

fn leaving(name: &str) -> Pod {
    let end = Termination { ends: Timestamp::from_second(NOW + 30).ok(), grace: Some(30) };
    Pod { termination: Some(end), ..pod(name) }
}

fn daemon(name: &str) -> Pod {
    Pod { daemon_set: Some(ObjectKey::new("ns", "set")), ..pod(name) }
}

pub(in crate::drain) fn failure() -> Failure {
    let message = "the disruption budget web says no".to_owned();
    Failure { category: Category::Throttled, retry: Retry::Backoff, message }
}

pub(in crate::drain) fn refused(seconds_ago: i64) -> Attempt {
    Attempt::after(None, false, &failure(), ago(seconds_ago))
}

/// A drain that has begun, of a node with these pods, whose DaemonSets live, without volumes.
pub(in crate::drain) fn view(pods: Vec<Pod>) -> View {
    let subject = Subject {
        uid: Uid("machine".into()),
        node_ref: Some(NodeRef { name: "n".into(), uid: Uid("node".into()) }),
        provider_id: None,
        hooks: Box::default(),
        excluded: false,
        forced: false,
        tainted: false,
        limit: Limit::Default,
        stored: None,
    };
    let two_hours = Some(Duration::from_secs(7200));
    let timings = MachineTimings { drain: two_hours, ..MachineTimings::default() };
    let mut view = View::new(subject, timings, HashMap::new());
    view.node = node().seen();
    view.pods = Observed::Present(pods);
    view.orphaned = Observed::Present(BTreeSet::new());
    view.volumes = Observed::Present(Vec::new());
    view
}

pub(in crate::drain) fn with(mut view: View, change: impl FnOnce(&mut View)) -> View {
    change(&mut view);
    view
}

fn of_node(change: impl FnOnce(&mut Node)) -> View {
    with(view(Vec::new()), |view| {
        let mut changed = node();
        change(&mut changed);
        view.node = changed.seen();
    })
}

pub(in crate::drain) fn at_step(step: Step, seconds_ago: i64) -> StoredStep {
    StoredStep { step, since: Some(ago(seconds_ago)) }
}

fn effects(plan: &Plan) -> Vec<String> {
    let verb = if plan.force.is_some() { "delete" } else { "evict" };
    let cordon = plan.cordon.iter().map(|mark| format!("cordon {mark}"));
    let pods = plan.pods.iter();
    let pods = pods.map(|removal| format!("{verb} {} {:?}", removal.pod.name, removal.grace));
    cordon.chain(pods).collect()
}

fn check(name: &str, view: &View, step: Step, wanted: &[&str], again: Option<u64>) {
    assert_eq!(view.next_query(now()), None, "{name}: looks");
    let plan = decide(view, now());
    assert_eq!(plan.step, step, "{name}");
    assert_eq!(effects(&plan), wanted, "{name}");
    assert_eq!(plan.again, again.map(Duration::from_secs), "{name}");
}

#[test]
fn waits_or_skips_before_the_drain_begins() {
    let hook = Hook { name: "quorum".into(), owner: "etcd".into() };
    let hooked = |view: View| with(view, |view| view.subject.hooks = [hook.clone()].into());
    let excluded = with(view(Vec::new()), |view| view.subject.excluded = true);
    let nodeless = with(view(Vec::new()), |view| view.subject.node_ref = None);
    let forced = with(view(vec![pod("a")]), |view| view.subject.forced = true);
    for (name, held) in [
        ("hook", view(vec![pod("a")])),
        ("hook, excluded", excluded.clone()),
        ("hook, no node", nodeless.clone()),
        ("hook, forced", forced),
    ] {
        check(name, &hooked(held), Step::WaitingForHooks, &[], None);
    }
    check("excluded", &excluded, Step::Skipped, &[], None);
    check("no node", &nodeless, Step::Skipped, &[], None);
    let gone = with(view(Vec::new()), |view| view.node = Observed::Absent);
    check("gone", &gone, Step::NodeGone, &[], None);
    let unknown = with(view(Vec::new()), |view| view.node = Observed::Unknown(failure()));
    check("unknown", &unknown, Step::CannotRead, &[], Some(20));
}

#[test]
fn cordons_and_marks_the_node_once() {
    let fresh = of_node(|node| (node.cordoned, node.mark) = (false, None));
    let at = now();
    let ours = format!("cordon v1 {at} cordoned");
    check("fresh", &fresh, Step::Cordoning, &[&ours], Some(0));
    let theirs = of_node(|node| node.mark = None);
    let theirs_mark = format!("cordon v1 {at} found-cordoned");
    check("cordoned by others", &theirs, Step::Cordoning, &[&theirs_mark], Some(0));
    let uncordoned = of_node(|node| node.cordoned = false);
    let old = format!("cordon v1 {} cordoned", ago(60));
    check("uncordoned in the middle", &uncordoned, Step::Cordoning, &[&old], Some(0));
}

#[test]
fn does_not_requeue_at_once_without_a_write() {
    let fresh = of_node(|node| (node.cordoned, node.mark) = (false, None));
    let crowd = (0..100).map(|n| pod(&n.to_string())).collect();
    let forced = with(view(vec![pod("a")]), |view| view.subject.forced = true);
    for (view, pause) in [(fresh, 20), (view(crowd), 5), (forced, 5)] {
        let plan = decide(&view, now());
        let nothing = Outcome::default();
        assert_eq!(plan.again(&nothing), Some(Duration::from_secs(pause)), "{plan}");
        let something = Outcome { accepted: vec![Uid("a".into())], ..nothing };
        assert_eq!(plan.again(&something), Some(Duration::ZERO), "{plan}");
    }
}

#[test]
fn drains_one_control_plane_node_at_a_time() {
    let fresh = |change: fn(&mut Node)| {
        let fresh = of_node(|node| {
            (node.cordoned, node.mark, node.control_plane) = (false, None, true);
            change(node);
        });
        with(fresh, |view| view.cordoned_peers = vec!["other".into()])
    };
    let step = |view: &View| decide(view, now()).step;
    check("peer cordoned", &fresh(|_| {}), Step::WaitingForControlPlane, &[], Some(20));
    assert_eq!(step(&fresh(|node| node.cordoned = true)), Step::Cordoning, "cordoned itself");
    assert_eq!(step(&fresh(|node| node.control_plane = false)), Step::Cordoning, "a worker");
    let alone = with(fresh(|_| {}), |view| view.cordoned_peers.clear());
    assert_eq!(step(&alone), Step::Cordoning, "no peer");
    let forced = with(fresh(|_| {}), |view| view.subject.forced = true);
    assert_eq!(step(&forced), Step::Forced, "it does not wait");
}

#[test]
fn evicts_pods_by_priority() {
    let important = Pod { priority: 9, ..pod("z") };
    let mirror = Pod { mirror: true, ..pod("m") };
    let pods = vec![pod("b"), pod("a"), important, mirror, daemon("d"), leaving("l")];
    let wanted = ["evict z None", "evict a None", "evict b None"];
    check("evict", &view(pods), Step::Evicting, &wanted, Some(5));
}

#[test]
fn a_refused_pod_has_its_own_delay() {
    let pods = vec![pod("a"), pod("b"), pod("c")];
    let refusing = with(view(pods), |view| {
        view.attempts =
            HashMap::from([(Uid("a".into()), refused(0)), (Uid("b".into()), refused(60))]);
    });
    let plan = decide(&refusing, now());
    assert_eq!(effects(&plan), ["evict b None", "evict c None"]);
    let only = with(view(vec![pod("a")]), |view| {
        let third = Attempt { refusals: 6, ..refused(0) };
        view.attempts = HashMap::from([(Uid("a".into()), third)]);
    });
    let again = decide(&only, now()).again.unwrap();
    assert!(again >= Duration::from_secs(90) && again <= Duration::from_secs(120), "{again:?}");
}

#[test]
fn shortens_grace_periods_on_an_unreachable_node() {
    let over = Termination { ends: Timestamp::from_second(NOW - 5).ok(), grace: Some(30) };
    let over = Pod { termination: Some(over), ..pod("over") };
    let silent = |pods| {
        with(view(pods), |view| {
            view.node = Node { unreachable: true, ..node() }.seen();
        })
    };
    let wanted = ["evict a Some(1)", "evict l Some(1)"];
    let pods = vec![pod("a"), leaving("l"), over.clone()];
    check("silent", &silent(pods), Step::Evicting, &wanted, Some(5));
    check("it does not wait", &silent(vec![over]), Step::Succeeded, &[], None);
    let budget = with(silent(vec![pod("a")]), |view| {
        view.attempts = HashMap::from([(Uid("a".into()), refused(0))]);
    });
    assert_eq!(effects(&decide(&budget, now())), Vec::<String>::new(), "budgets are honoured");
}

#[test]
fn waits_for_volumes_up_to_the_limit() {
    let attached = |stored| {
        with(view(vec![daemon("d")]), |view| {
            view.volumes = Observed::Present(vec!["pv".into()]);
            view.subject.stored = stored;
        })
    };
    check("empty", &view(vec![daemon("d")]), Step::Succeeded, &[], None);
    let waiting = Step::WaitingForVolumes;
    check("attached", &attached(None), waiting, &[], Some(5));
    check("attached, for a while", &attached(Some(at_step(waiting, 118))), waiting, &[], Some(2));
    check("given up", &attached(Some(at_step(waiting, 120))), Step::VolumesLeft, &[], None);
    let unknown = with(attached(None), |view| view.volumes = Observed::Unknown(failure()));
    check("unknown", &unknown, waiting, &[], Some(5));
}

#[test]
fn an_unreadable_node_is_not_empty() {
    let pods = with(view(Vec::new()), |view| view.pods = Observed::Unknown(failure()));
    check("pods", &pods, Step::CannotRead, &[], Some(5));
    let sets = with(view(vec![daemon("d")]), |view| view.orphaned = Observed::Unknown(failure()));
    check("DaemonSets", &sets, Step::CannotRead, &[], Some(5));
    let orphans = with(view(vec![daemon("d")]), |view| {
        view.orphaned = Observed::Present(BTreeSet::from([ObjectKey::new("ns", "set")]));
    });
    check("orphaned", &orphans, Step::Evicting, &["evict d None"], Some(5));
}

#[test]
fn forces_after_the_time_limit() {
    let late = |pods| {
        with(view(pods), |view| {
            let mark = Some(Mark { started: ago(7200), cordoned: true });
            view.node = Node { mark, ..node() }.seen();
        })
    };
    let pods = vec![pod("a"), leaving("l"), daemon("d")];
    let wanted = ["delete a Some(0)", "delete l Some(0)"];
    check("late", &late(pods), Step::Forcing, &wanted, Some(0));
    check("late, empty", &late(Vec::new()), Step::Forced, &[], None);
    let dropped = Termination { ends: Some(now()), grace: Some(0) };
    let dropped = Pod { termination: Some(dropped), ..pod("stuck") };
    check("late, a finalizer", &late(vec![dropped]), Step::Forced, &[], None);
    let stubborn = |failures, seconds_ago| {
        with(late(vec![pod("a")]), |view| {
            let attempt = Attempt { force_failures: failures, ..refused(seconds_ago) };
            view.attempts = HashMap::from([(Uid("a".into()), attempt)]);
        })
    };
    check("refused gently", &stubborn(0, 0), Step::Forcing, &["delete a Some(0)"], Some(0));
    check("failed just now", &stubborn(1, 0), Step::Forcing, &[], Some(5));
    check("failed before", &stubborn(1, 9), Step::Forcing, &["delete a Some(0)"], Some(0));
    check("failed often", &stubborn(FORCE_TRIES, 9), Step::Forced, &[], None);
    let blind = |category| {
        with(late(Vec::new()), |view| {
            view.pods = Observed::Unknown(Failure { category, ..failure() });
        })
    };
    check("blind for now", &blind(Category::Unavailable), Step::CannotRead, &[], Some(5));
    check("blind for good", &blind(Category::Unauthorised), Step::Forced, &[], None);
}

#[test]
fn polls_pods_less_often_the_longer_none_of_them_ends() {
    for (waited, expected) in [(0, 5), (9, 5), (20, 10), (40, 20), (60, 30), (6000, 30)] {
        let slow = with(view(vec![leaving("l")]), |view| {
            view.subject.stored = Some(at_step(Step::WaitingForPods, waited));
        });
        check(&format!("{waited} s"), &slow, Step::Evicting, &[], Some(expected));
    }
    let again = |pods| {
        let slow = with(view(pods), |view| {
            view.subject.stored = Some(at_step(Step::EvictionBlocked, 6000));
            view.attempts = HashMap::from([(Uid("a".into()), refused(0))]);
        });
        decide(&slow, now()).again.unwrap()
    };
    let next_try = again(vec![pod("a"), leaving("l")]);
    assert!(next_try <= Duration::from_secs(5), "the next eviction is earlier: {next_try:?}");
    let evicted = again(vec![pod("b"), leaving("l")]);
    assert_eq!(evicted, Duration::from_secs(5), "a pod that is evicted now may end soon");
}

#[test]
fn the_machines_own_time_limit_wins_and_an_invalid_one_never_forces() {
    let force = |limit, default, spent| {
        let view = with(view(vec![pod("a")]), |view| {
            let mark = Some(Mark { started: ago(spent), cordoned: true });
            view.node = Node { mark, ..node() }.seen();
            view.subject.limit = limit;
            view.timings.drain = default;
        });
        view.force(now())
    };
    let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
    let own = |limit| Limit::Own(Timeout(limit));
    for (limit, default, spent, expected) in [
        (Limit::Default, None, 1_000_000, None),
        (Limit::Default, Some(hour), 3599, None),
        (Limit::Default, Some(hour), 3600, Some(Force::TimedOut)),
        (own(Some(minute)), None, 60, Some(Force::TimedOut)),
        (own(Some(hour)), Some(minute), 60, None),
        (own(None), Some(minute), 1_000_000, None),
        (Limit::Invalid("soon".into()), Some(minute), 1_000_000, None),
    ] {
        assert_eq!(force(limit.clone(), default, spent), expected, "{limit:?} {spent}");
    }
}

#[test]
fn requeues_no_later_than_the_time_limit() {
    let nearly = with(view(vec![leaving("l")]), |view| {
        let mark = Some(Mark { started: ago(7198), cordoned: true });
        view.node = Node { mark, ..node() }.seen();
    });
    check("nearly", &nearly, Step::Evicting, &[], Some(2));
}

#[test]
fn the_time_limit_counts_from_the_mark_or_the_first_cordon() {
    let unmarked = |stored| {
        with(of_node(|node| (node.cordoned, node.mark) = (false, None)), |view| {
            view.subject.stored = stored;
        })
    };
    let force = |stored| unmarked(stored).force(now());
    assert_eq!(force(Some(at_step(Step::WaitingForHooks, 90_000))), None, "hooks cost no time");
    assert_eq!(force(Some(at_step(Step::WaitingForControlPlane, 90_000))), None, "nor do peers");
    assert_eq!(force(Some(at_step(Step::Cordoning, 7200))), Some(Force::TimedOut));
}

#[test]
fn a_finished_drain_stays_finished() {
    for step in Step::ALL.into_iter().filter(|step| step.is_done()) {
        let outcome =
            with(view(vec![pod("a")]), |view| view.subject.stored = Some(at_step(step, 1)));
        check(step.as_str(), &outcome, step, &[], None);
    }
}

#[test]
fn reads_one_thing_after_the_other() {
    let mut view = View::new(view(Vec::new()).subject, MachineTimings::default(), HashMap::new());
    assert_eq!(view.next_query(now()), Some(Query::Node));
    view.node = Node { mark: None, ..node() }.seen();
    assert_eq!(view.next_query(now()), None, "pods are not listed before the drain has begun");
    view.node = node().seen();
    assert_eq!(view.next_query(now()), Some(Query::Pods));
    view.pods = Observed::Present(vec![pod("a"), daemon("d")]);
    assert_eq!(view.next_query(now()), None, "DaemonSets matter only at the end");
    view.pods = Observed::Present(vec![daemon("d")]);
    assert_eq!(view.next_query(now()), Some(Query::DaemonSets));
    view.orphaned = Observed::Present(BTreeSet::new());
    assert_eq!(view.next_query(now()), Some(Query::Volumes));
    view.volumes = Observed::Present(Vec::new());
    assert_eq!(view.next_query(now()), None);
}

prop_compose! {
    fn any_pod()(
        name in 0..400_u32, mirror in proptest::bool::weighted(0.1), daemon in proptest::option::weighted(0.2, 0..3_u8),
        finished in proptest::bool::weighted(0.1), priority in -5..5_i32,
        end in proptest::option::weighted(0.3, (proptest::option::of(-100..100_i64), proptest::option::of(0..60_i64))),
    ) -> Pod {
        Pod {
            mirror,
            daemon_set: daemon.map(|set| ObjectKey::new("ns", format!("set-{set}"))),
            finished,
            priority,
            termination: end.map(|(ends, grace)| Termination { ends: ends.map(ago), grace }),
            ..pod(&format!("p{name}"))
        }
    }
}

fn any_pods() -> impl Strategy<Value = Vec<Pod>> {
    proptest::collection::vec(any_pod(), 0..150).prop_map(|mut pods| {
        let mut names = BTreeSet::new();
        pods.retain(|pod| names.insert(pod.key.clone()));
        pods
    })
}

fn any_observed<T: std::fmt::Debug + Clone + 'static>(
    known: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Observed<T>> {
    prop_oneof![
        8 => known.prop_map(Observed::Present),
        1 => Just(Observed::Unknown(failure())),
        1 => Just(Observed::NotAsked),
    ]
}

prop_compose! {
    fn any_view()(
        pods in any_observed(any_pods()),
        orphaned in any_observed(proptest::collection::btree_set(
            (0..3_u8).prop_map(|set| ObjectKey::new("ns", format!("set-{set}"))), 0..2
        )),
        volumes in any_observed(proptest::collection::vec(Just(Arc::<str>::from("pv")), 0..2)),
        flags in any::<[bool; 4]>(), forced in proptest::bool::weighted(0.1),
        started in proptest::option::weighted(0.9, 0..8000_i64),
        stored in proptest::option::of((0..9_usize, 0..8000_i64)),
        refusals in proptest::collection::hash_map(0..400_u32, (0..8_u32, 0..4_u32, 0..200_i64), 0..40),
    ) -> View {
        let mut view = view(Vec::new());
        (view.pods, view.orphaned, view.volumes) = (pods, orphaned, volumes);
        let [cordoned, unreachable, control_plane, peer] = flags;
        let mark = started.map(|started| Mark { started: ago(started), cordoned: true });
        view.node = Node { control_plane, cordoned, unreachable, mark }.seen();
        view.cordoned_peers = peer.then(|| "other".into()).into_iter().collect();
        view.subject.forced = forced;
        view.subject.stored = stored.map(|(at, since)| at_step(Step::ALL[at], since));
        view.attempts = refusals.into_iter().map(|(name, (refusals, force_failures, since))| {
            (Uid(format!("p{name}").into()), Attempt { refusals, force_failures, ..refused(since) })
        }).collect();
        view
    }
}

proptest! {
    #[test]
    fn every_plan_is_safe(view in any_view()) {
        prop_assume!(view.next_query(now()).is_none());
        let plan = decide(&view, now());
        let actions: HashMap<_, _> = view.actions(now()).map(|(pod, action)| (pod.key.clone(), action)).collect();
        let pods: HashMap<_, _> = view.actions(now()).map(|(pod, _)| (pod.key.clone(), pod)).collect();
        prop_assert!(plan.pods.len() <= PODS_PER_RECONCILE);
        let failed = matches!(view.pods, Observed::Unknown(_)) || matches!(view.orphaned, Observed::Unknown(_));
        prop_assert!(plan.step != Step::CannotRead || failed, "everything that it needs was read");
        let unlisted = plan.step == Step::WaitingForVolumes && view.volumes == Observed::NotAsked;
        prop_assert!(!unlisted, "and the volumes");
        let orphaned = view.orphaned.present().cloned().unwrap_or_default();
        for removal in &plan.pods {
            let pod = pods[&removal.pod];
            prop_assert!(!pod.mirror, "a mirror pod is left alone");
            let lives = pod.daemon_set.as_ref().is_some_and(|set| !orphaned.contains(set));
            prop_assert!(!lives || pod.finished, "a pod that its DaemonSet would start again is left alone");
        }
        let may_force = view.force(now()).is_some();
        prop_assert!(plan.force.is_none() || may_force, "budgets are honoured unless forced");
        // Nothing goes out before the node is cordoned and the drain has begun.
        let prepared = view.node.present().is_some_and(|node| node.unschedulable && Mark::of(node).is_some());
        if !prepared && plan.force.is_none() {
            prop_assert!(plan.pods.is_empty());
        }
        // A node is drained only if it is empty and its volumes are off.
        if plan.step == Step::Succeeded {
            prop_assert!(view.pods.present().is_some());
            prop_assert!(!actions.values().any(|action| action.blocks_drain()));
            prop_assert_eq!(view.volumes.present().map(Vec::len), Some(0));
        }
        if plan.step == Step::VolumesLeft {
            prop_assert!(!actions.values().any(|action| action.blocks_drain()));
        }
        prop_assert_eq!(plan.step == Step::Forced, plan.force.is_some() && plan.is_done());
        prop_assert_eq!(plan.is_done(), plan.again.is_none());
        if plan.again == Some(Duration::ZERO) {
            prop_assert!(plan.has_effects());
        }
        prop_assert_ne!(plan.again(&Outcome::default()), Some(Duration::ZERO));
    }

    /// If everything that is asked for happens, a drain ends, and it gets closer to its end with every reconcile.
    #[test]
    fn every_drain_makes_progress(pods in any_pods(), unreachable: bool) {
        let mut view = view(pods);
        view.node = Node { unreachable, ..node() }.seen();
        let mut left = usize::MAX;
        for _ in 0..10 {
            let plan = decide(&view, now());
            if plan.is_done() {
                return Ok(());
            }
            let gone: BTreeSet<_> = plan.pods.iter().map(|removal| removal.pod.clone()).collect();
            if let Observed::Present(pods) = &mut view.pods {
                pods.retain(|pod| !gone.contains(&pod.key) && pod.termination.is_none());
                prop_assert!(pods.len() < left || pods.is_empty());
                left = pods.len();
            }
        }
        prop_assert!(false, "still not done");
    }
}

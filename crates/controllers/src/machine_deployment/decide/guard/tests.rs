use serde_json::{Value, json};

use super::super::super::samples::{deployment, member, now, set, snapshot, with_members};
use super::super::super::snapshot::Snapshot;
use super::super::decide;
use super::*;

/// With this in `spec.strategy.rollingUpdate`.
fn guarded(limits: &Value) -> Value {
    let mut guarded = deployment();
    guarded["spec"]["strategy"] = json!({"rollingUpdate": limits});
    guarded
}

/// With one canary that is observed for ten minutes.
fn with_canary() -> Value {
    guarded(&json!({"canary": {"soakSeconds": 600}}))
}

fn with_abort(failed: i64) -> Value {
    guarded(&json!({"maxSurge": 2, "abort": {"failedMachines": failed, "readyTimeoutSeconds": 60}}))
}

/// Three old Machines, and new ones in a set with these annotations.
fn rolling(new: Vec<Member>, annotations: &Value) -> Vec<SetView> {
    let stored = json!({"metadata": {"annotations": annotations}});
    let old = with_members(set("a", 3, 1, &json!({})), 3, 0);
    let set = set("b", new.len(), 2, &stored);
    vec![old, SetView { set, members: new, leaving: 0, open: 0, late: None }]
}

fn plan_of(snapshot: &Snapshot) -> String {
    decide(snapshot, now()).to_string()
}

fn plan(deployment: &Value, sets: Vec<SetView>) -> String {
    plan_of(&snapshot(deployment, sets))
}

/// A Machine that was created so many seconds ago.
fn young(name: &str, seconds: i64, ready: Option<u64>, patch: &Value) -> Member {
    let created = now() - SignedDuration::from_secs(seconds);
    let mut machine = json!({"metadata": {"creationTimestamp": created.to_string()}});
    let status = patch.get("status").cloned().unwrap_or_default();
    machine["status"] = status;
    member(name, ready, &machine)
}

fn failed(name: &str) -> Member {
    young(name, 9, None, &json!({"status": {"phase": "Failed"}}))
}

/// When the deployment is reconciled again without any change.
fn requeued(snapshot: &Snapshot) -> Option<i64> {
    let Ok(view) = &snapshot.content else { panic!("decodable") };
    let desired = Desired::of(view).unwrap();
    desired.guard_requeue(view, now()).map(|at| now().duration_until(at).as_secs())
}

#[test]
fn the_rollout_goes_on_when_the_canaries_have_soaked() {
    let ready = |seconds| rolling(vec![member("b-0", Some(seconds), &json!({}))], &json!({}));
    let soaks = snapshot(&with_canary(), ready(590));
    assert_eq!(
        plan_of(&soaks),
        "no-op: 1 canary must be available for 600s, which ends at 2026-06-01T12:00:10Z"
    );
    assert_eq!(requeued(&soaks), Some(10), "exactly then");
    let soaked = snapshot(&with_canary(), ready(601));
    assert_eq!(plan_of(&soaked), "store that the canaries of MachineSet b passed");
    assert_eq!(requeued(&soaked), Some(-1), "it was not over when it was decided");
    let passed = json!({"machinist.dev/canary-passed": "v1 2026-06-01T12:00:00Z"});
    let restarted = rolling(vec![member("b-0", Some(1), &json!({}))], &passed);
    assert_eq!(plan(&with_canary(), restarted), "scale a from 3 to 2", "also after a flap");
    let gone = rolling(Vec::new(), &passed);
    assert_eq!(plan(&with_canary(), gone), "scale b from 0 to 1");
}

#[test]
fn every_canary_soaks_in_addition_to_the_time_until_it_is_available() {
    let mut patient =
        guarded(&json!({"maxSurge": 2, "canary": {"replicas": "50%", "soakSeconds": 600}}));
    patient["spec"]["minReadySeconds"] = json!(60);
    let waiting = json!({"spec": {"minReadySeconds": 60}});
    let with = |first, second| {
        let new = [first, second].map(|ready| member("b", Some(ready), &json!({})));
        let mut sets = rolling(new.into(), &json!({}));
        sets[1].set = set("b", 2, 2, &waiting);
        snapshot(&patient, sets)
    };
    assert_eq!(requeued(&with(700, 600)), Some(60));
    assert!(plan_of(&with(700, 600)).contains("2 canaries must be available for 600s"));
    assert_eq!(requeued(&with(100, 600)), Some(560), "the later one");
    assert!(plan_of(&with(661, 700)).starts_with("store that"));
    // One that cluster-autoscaler takes away does not count.
    let mark = json!({"metadata": {"annotations": {"machine.openshift.io/delete-machine": "now"}}});
    let marked = rolling(vec![member("b-0", Some(900), &mark)], &json!({}));
    assert_eq!(requeued(&snapshot(&with_canary(), marked)), None);
}

#[test]
fn without_old_machines_there_is_nothing_to_observe() {
    let new = with_members(set("b", 0, 2, &json!({})), 0, 0);
    assert_eq!(plan(&with_canary(), vec![new.clone()]), "scale b from 0 to 3");
    let old = with_members(set("a", 0, 1, &json!({})), 0, 0);
    assert_eq!(plan(&with_canary(), vec![old.clone(), new]), "scale b from 0 to 3");
    // A complete rollout has passed: putting back its template is not held up.
    let complete = || with_members(set("b", 3, 2, &json!({})), 3, 0);
    let stored = "store that MachineSet b needs no canaries";
    assert_eq!(plan(&with_canary(), vec![old.clone(), complete()]), stored);
    assert_eq!(
        plan(&deployment(), vec![old, complete()]),
        "no-op: the rollout is complete",
        "only if it is asked for"
    );
}

#[test]
fn new_machines_that_fail_stop_the_rollout() {
    let ready = || member("b-9", Some(60), &json!({}));
    let one = || rolling(vec![failed("b-0"), ready()], &json!({}));
    assert_eq!(
        plan(&with_abort(1), one()),
        "store on MachineSet b that 1 new Machine failed or was not ready in time: b-0 (Failed), \
         and stop the rollout"
    );
    let first =
        "store on MachineSet b that 1 new Machine failed or was not ready in time: b-0 (Failed)";
    assert_eq!(plan(&with_abort(2), one()), first);
    let known = json!({"machinist.dev/failed-machines": "v1 b-0=Failed"});
    let stored = |member| rolling(vec![failed("b-0"), member], &known);
    assert_eq!(plan(&with_abort(2), stored(ready())), "scale a from 3 to 2", "it is tolerated");
    // The first is gone and still counts.
    let second = rolling(vec![failed("b-1")], &known);
    let stop = plan(&with_abort(2), second);
    assert!(stop.contains("b-0 (Failed), b-1 (Failed), and stop"), "{stop}");
    let unknown = json!({"machinist.dev/failed-machines": "v2 …"});
    let later = rolling(vec![failed("b-0"), ready()], &unknown);
    assert_eq!(plan(&with_abort(1), later), "scale a from 3 to 2", "of a later version");
}

#[test]
fn a_machine_is_late_when_it_has_had_no_ready_node_for_too_long() {
    let with = |member| snapshot(&with_abort(1), rolling(vec![member], &json!({})));
    let starting = with(young("b-0", 50, None, &json!({})));
    assert_eq!(plan_of(&starting), "scale b from 1 to 2");
    assert_eq!(requeued(&starting), Some(10));
    let late = plan_of(&with(young("b-0", 61, None, &json!({}))));
    assert!(late.contains("b-0 (NotReady), and stop"), "{late}");
    // It was ready for most of the time.
    let mut flaps = young("b-0", 9000, None, &json!({}));
    flaps.unready_since = Some(now() - SignedDuration::from_secs(20));
    assert_eq!(requeued(&with(flaps.clone())), Some(40));
    flaps.unready_since = Some(now() - SignedDuration::from_secs(61));
    assert!(plan_of(&with(flaps)).contains("NotReady"));
    assert_eq!(requeued(&with(young("b-0", 9000, Some(9), &json!({})))), None);
}

#[test]
fn a_machine_without_its_node_is_late_when_it_has_not_been_ready_for_too_long() {
    let with = |conditions: Value| {
        let status = json!({"status": {"nodeRef": {"name": "n"}, "conditions": conditions}});
        snapshot(&with_abort(1), rolling(vec![young("b-0", 9000, None, &status)], &json!({})))
    };
    let ready = |status: &str, ago: i64| {
        let since = now() - SignedDuration::from_secs(ago);
        let since = since.to_string();
        json!([{"type": "Ready", "status": status, "lastTransitionTime": since}])
    };
    let gone = with(ready("False", 20));
    assert_eq!((plan_of(&gone), requeued(&gone)), ("scale b from 1 to 2".to_owned(), Some(40)));
    assert!(plan_of(&with(ready("False", 61))).contains("b-0 (NotReady), and stop"));
    // Its controller has not seen yet that the Node is gone, or has no such condition.
    for unknown in [with(ready("True", 900)), with(json!([]))] {
        assert_eq!(
            (plan_of(&unknown), requeued(&unknown)),
            ("scale b from 1 to 2".to_owned(), None)
        );
    }
}

#[test]
fn what_cannot_be_stored_does_not_hold_up_scaling() {
    let refused = |deployment: &Value, new| {
        let mut snapshot = snapshot(deployment, rolling(vec![new], &json!({})));
        let view = snapshot.content.as_mut().unwrap();
        view.refused.objects.insert(machinist_domain::key::Uid("b-uid".into()));
        snapshot
    };
    let soaked = || member("b-0", Some(601), &json!({}));
    for (mut deployment, new, waits) in [
        (with_abort(1), failed("b-0"), "no-op: the rollout is aborted"),
        (with_canary(), soaked(), "no-op: 1 canary must be available"),
    ] {
        let stays = refused(&deployment, new.clone());
        assert!(plan_of(&stays).starts_with(waits), "{}", plan_of(&stays));
        assert_eq!(requeued(&stays), None, "the refused write has its own time");
        deployment["spec"]["replicas"] = json!(5);
        let scaled = plan_of(&refused(&deployment, new));
        assert!(scaled.starts_with("scale a from 3 to "), "{scaled}");
    }
    let mut paused = with_abort(1);
    paused["spec"]["paused"] = json!(true);
    assert_eq!(plan_of(&refused(&paused, failed("b-0"))), "no-op: paused");
    assert_eq!(plan_of(&refused(&with_abort(2), failed("b-0"))), "scale b from 1 to 2");
}

#[test]
fn machines_from_before_a_rollback_do_not_stop_it() {
    let mut back = with_abort(1);
    back["spec"]["template"]["spec"]["providerSpec"]["value"]["instanceType"] = json!("a");
    let mut sets = rolling(vec![failed("b-0")], &json!({}));
    sets[0].members[0] = failed("a-0");
    let Plan::SetRevision { revision: 3, started: Some(at), .. } =
        decide(&snapshot(&back, sets.clone()), now())
    else {
        panic!("begins")
    };
    assert_eq!(at, now());
    let started = json!({"metadata": {"annotations": {
        "machinist.dev/rollout-started": format!("v1 {}", now()),
    }}});
    back["metadata"]["annotations"]["machinedeployment.clusters.x-k8s.io/revision"] = json!("3");
    sets[0].set = set("a", 3, 3, &started);
    assert_eq!(plan(&back, sets.clone()), "no-op: waiting for 1 new Machine to become available");
    sets[0].members.push(young("a-4", 0, None, &json!({"status": {"phase": "Failed"}})));
    assert!(plan(&back, sets).contains("a-4 (Failed), and stop"), "one of this rollout does");
}

#[test]
fn an_aborted_rollout_stays_so_until_its_annotation_is_removed() {
    let stored = |abort: bool| {
        let mut stored = json!({"machinist.dev/failed-machines": "v1 b-0=Failed"});
        if abort {
            stored["machinist.dev/rollout-aborted"] = json!("v1 2026-06-01T12:00:00Z");
        }
        rolling(vec![failed("b-0")], &stored)
    };
    let aborted = "no-op: the rollout is aborted";
    for deployment in [with_abort(1), with_abort(9), with_canary(), deployment()] {
        assert_eq!(plan(&deployment, stored(true)), aborted);
    }
    let mut history = with_abort(1);
    history["spec"]["revisionHistoryLimit"] = json!(0);
    history["spec"]["replicas"] = json!(0);
    let mut empty = stored(true);
    empty[0] = with_members(set("a", 0, 1, &json!({})), 0, 0);
    empty[1].members.clear();
    empty[1].set = set(
        "b",
        0,
        2,
        &json!({"metadata": {"annotations": {
            "machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z",
        }}}),
    );
    assert_eq!(plan(&history, empty), aborted, "what to go back to is not deleted");
    // It is resumed, and the Machine that failed is known.
    assert_eq!(plan(&with_abort(1), stored(false)), "scale b from 1 to 2");
}

/// A Machine that is kept for debugging.
fn kept(name: &str, ready: Option<u64>, phase: &str) -> Member {
    let annotations = json!({
        "machinist.dev/preserve": "now", "machinist.dev/preserved-until": "2026-06-05T12:00:00Z",
    });
    let status = json!({"phase": phase});
    member(name, ready, &json!({"metadata": {"annotations": annotations}, "status": status}))
}

#[test]
fn preserved_machines_are_no_canaries() {
    let running = |seconds| kept("b-0", Some(seconds), "Running");
    let one = rolling(vec![running(900)], &json!({}));
    assert_eq!(plan(&with_canary(), one), "scale b from 1 to 2");
    let other = member("b-1", Some(590), &json!({}));
    let soaks = snapshot(&with_canary(), rolling(vec![running(900), other], &json!({})));
    assert_eq!(
        plan_of(&soaks),
        "no-op: 1 canary must be available for 600s, which ends at 2026-06-01T12:00:10Z"
    );
    assert_eq!(requeued(&soaks), Some(10));
    // Nor is there anything to guard if no other old Machine is left.
    let mut beside = rolling(Vec::new(), &json!({}));
    beside[0] = with_members(set("a", 1, 1, &json!({})), 0, 0);
    beside[0].members.push(kept("a-0", Some(900), "Running"));
    assert_eq!(plan(&with_canary(), beside), "scale b from 0 to 3");
}

#[test]
fn preserved_machines_that_fail_stop_the_rollout_and_cost_no_old_one() {
    let failed = || vec![kept("b-0", None, "Failed")];
    let stop = plan(&with_abort(1), rolling(failed(), &json!({})));
    assert!(stop.contains("b-0 (Failed), and stop"), "{stop}");
    let stored = json!({
        "machinist.dev/failed-machines": "v1 b-0=Failed",
        "machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z",
    });
    let mut sets = rolling(failed(), &stored);
    assert_eq!(plan(&with_abort(1), sets.clone()), "no-op: the rollout is aborted");
    sets[0] = with_members(set("a", 2, 1, &json!({})), 2, 0);
    assert_eq!(plan(&with_abort(1), sets), "scale a from 2 to 3");
}

#[test]
fn paused_rollouts_find_nothing() {
    let mut paused = with_abort(1);
    paused["spec"]["paused"] = json!(true);
    let sets = rolling(vec![failed("b-0")], &json!({}));
    assert_eq!(plan(&paused, sets.clone()), "no-op: paused");
    assert_eq!(requeued(&snapshot(&paused, sets)), None);
}

#[test]
fn invalid_guards_are_refused_with_field_and_value() {
    for (limits, text) in [
        (json!({"canary": {"replicas": 0}}), "canary.replicas must be a number from 1"),
        (json!({"canary": {"replicas": "0%"}}), "(got 0%)"),
        (json!({"canary": {"replicas": "101%"}}), "(got 101%)"),
        (json!({"canary": {"replicas": "x"}}), "(got x)"),
        (json!({"canary": {"soakSeconds": -1}}), "canary.soakSeconds must be a number from 0"),
        (json!({"abort": {"failedMachines": 0}}), "abort.failedMachines must be a number from 1"),
        (json!({"abort": {"failedMachines": 1001}}), "(got 1001)"),
        (json!({"abort": {"readyTimeoutSeconds": 0}}), "abort.readyTimeoutSeconds must be"),
    ] {
        let plan = plan(&guarded(&limits), Vec::new());
        let start = "no-op: spec.strategy.rollingUpdate.";
        assert!(plan.starts_with(start) && plan.contains(text), "{plan}");
    }
    for name in ["canary", "abort"] {
        let mut recreate = guarded(&json!({name: {}}));
        recreate["spec"]["strategy"]["type"] = json!("Recreate");
        let plan = plan(&recreate, Vec::new());
        assert!(plan.contains(&format!("{name} needs the strategy type RollingUpdate")), "{plan}");
    }
    let plan = plan(&guarded(&json!({"canary": {}, "abort": {}})), Vec::new());
    assert!(plan.starts_with("create MachineSet"), "{plan}");
}

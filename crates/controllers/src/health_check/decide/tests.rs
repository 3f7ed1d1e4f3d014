mod external;
mod memory;

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::plan::{Hold, NoBudget};
use super::super::samples::*;
use super::super::snapshot::{Deployment, InFlight, Limit, NoLimit, NodeView};
use super::*;

fn assessed(view: View) -> Assessment {
    match decide(&snapshot(view)) {
        Plan::Assess(assessment) => assessment,
        plan => panic!("{plan}"),
    }
}

fn remediated(view: View) -> Vec<String> {
    let assessment = assessed(view);
    assessment.remediations().map(|one| one.meta.key.name.to_string()).collect()
}

fn step(view: View, name: &str) -> Step {
    let assessment = assessed(view);
    let found = assessment.findings.into_iter().find(|one| &*one.meta.key.name == name);
    found.unwrap_or_else(|| panic!("{name} is healthy")).step
}

fn spec(spec: &Value) -> Arc<MachineHealthCheck> {
    check(&json!({ "spec": spec }))
}

/// So many Machines whose Nodes have been unknown for an hour, and so many healthy ones.
fn fleet(bad: usize, good: usize) -> Vec<Member> {
    let bad = (0..bad).map(|n| with_node(&format!("bad-{n}"), "Unknown", -60));
    bad.chain((0..good).map(|n| healthy(&format!("good-{n}")))).collect()
}

#[test]
fn a_machine_is_unhealthy_in_the_order_of_openshifts_checks() {
    let failed = member(machine("m", &json!({"status": {"phase": "Failed"}})), None);
    let gone = member(machine("m", &json!({})), None);
    let undecodable = Member { machine: None, ..healthy("m") };
    let unreadable_node = Member { node: NodeView::Undecodable, ..healthy("m") };
    let on_time = at(10);
    for (member, expected) in [
        (healthy("m"), None),
        (failed, Some(Step::Remediate)),
        (gone, Some(Step::Remediate)),
        (undecodable, Some(Step::Wait(None))),
        (unreadable_node, Some(Step::Wait(None))),
        (deleting("m"), Some(Step::Wait(None))),
        (booting("m", at(0)), Some(Step::Wait(Some(on_time)))),
        (booting("m", at(-5)), Some(Step::Remediate)),
        (with_node("m", "Unknown", 0), Some(Step::Remediate)),
        (with_node("m", "False", 0), Some(Step::Remediate)),
        (with_node("m", "False", 1), Some(Step::Wait(Some(at(6))))),
        (with_node("m", "Sleepy", -60), None),
    ] {
        let assessment = assessed(view(check(&json!({})), vec![member.clone()], 5));
        let found = assessment.findings.first().map(|one| one.step.clone());
        assert_eq!(found, expected, "{member:?}");
        assert_eq!(assessment.healthy, usize::from(expected.is_none()));
    }
}

#[test]
fn the_condition_that_ends_first_decides() {
    let check = spec(&json!({"unhealthyConditions": [
        {"type": "Ready", "status": "False", "timeout": "10m"},
        {"type": "DiskPressure", "status": "True", "timeout": "1m"},
        {"type": "Terminating", "status": "True", "timeout": "0s"},
    ]}));
    let with = |conditions: Value| {
        let node = node_with("m", &conditions);
        step(view(check.clone(), vec![member(machine("m", &json!({})), Some(node))], 0), "m")
    };
    let one = |kind: &str, status: &str, since: i64| {
        let since = at(since).to_string();
        json!({"type": kind, "status": status, "lastTransitionTime": since})
    };
    let not_ready = one("Ready", "False", -5);
    assert_eq!(with(json!([not_ready])), Step::Wait(Some(at(5))));
    assert_eq!(with(json!([not_ready, one("DiskPressure", "True", 0)])), Step::Wait(Some(at(1))));
    assert_eq!(with(json!([not_ready, one("DiskPressure", "False", -9)])), Step::Wait(Some(at(5))));
    assert_eq!(with(json!([one("Terminating", "True", 0)])), Step::Remediate);
}

#[test]
fn the_startup_timeout_counts_from_the_creation_of_the_instance() {
    let exists = |time: i64| {
        json!({"conditions": [{"type": "InstanceExists", "status": "True",
        "lastTransitionTime": at(time).to_string()}]})
    };
    let with = |status: &Value, timeout: &str| {
        let mut patch = json!({"status": {"nodeRef": null, "phase": "Provisioned"}});
        patch["status"]["conditions"] = status["conditions"].clone();
        patch["status"]["lastUpdated"] = json!(at(0).to_string());
        let check = spec(&json!({ "nodeStartupTimeout": timeout }));
        step(view(check, vec![member(machine("m", &patch), None)], 0), "m")
    };
    // The Machine is two hours old.
    assert_eq!(with(&json!({"conditions": []}), "10m"), Step::Remediate);
    assert_eq!(with(&exists(-4), "10m"), Step::Wait(Some(at(6))));
    assert_eq!(with(&exists(-10), "10m"), Step::Remediate);
    assert_eq!(with(&exists(-600), "0"), Step::Wait(None));
}

#[test]
fn a_percentage_is_rounded_down_and_text_may_be_a_number() {
    let max = |value: Value, count: usize| {
        assessed(view(spec(&json!({ "maxUnhealthy": value })), fleet(0, count), 0)).max_unhealthy
    };
    for (value, count, expected) in [
        (json!("60%"), 7, 4),
        (json!("40%"), 3, 1),
        (json!("100%"), 7, 7),
        (json!("0%"), 7, 0),
        (json!("2"), 7, 2),
        (json!(3), 7, 3),
        (json!(9), 7, 9),
        (json!(-1), 7, 0),
        (Value::Null, 7, 7),
        (json!("60%"), 0, 0),
    ] {
        assert_eq!(max(value.clone(), count), expected, "{value} of {count}");
    }
}

#[test]
fn more_unhealthy_machines_than_allowed_stop_all_remediation() {
    let check = spec(&json!({"maxUnhealthy": "60%"}));
    let allowed = assessed(view(check.clone(), fleet(4, 3), 0));
    assert_eq!((allowed.remediations().count(), allowed.remediations_allowed()), (4, 0));
    let stopped = assessed(view(check.clone(), fleet(5, 2), 0));
    assert_eq!((stopped.remediations().count(), stopped.remediations_allowed()), (0, 0));
    assert!(stopped.held().all(|(_, hold)| *hold == Hold::TooManyUnhealthy));
    // Suspects, booting Machines, those being deleted and undecodable ones count.
    for other in [
        with_node("x", "Unknown", 0),
        booting("x", at(0)),
        deleting("x"),
        Member { machine: None, ..healthy("x") },
    ] {
        let mut members = fleet(4, 2);
        members.push(other);
        assert_eq!(remediated(view(check.clone(), members, 0)), Vec::<String>::new());
    }
}

#[test]
fn the_longest_unhealthy_machine_comes_first() {
    let members =
        vec![with_node("a", "Unknown", -10), with_node("b", "Unknown", -20), healthy("c")];
    assert_eq!(remediated(view(check(&json!({})), members, 0)), ["b", "a"]);
}

#[test]
fn an_invalid_spec_is_refused_and_remediates_nothing() {
    for (patch, expected) in [
        (json!({"maxUnhealthy": "lots"}), Refusal::MaxUnhealthy("lots".to_owned())),
        (json!({"maxUnhealthy": "-5%"}), Refusal::MaxUnhealthy("-5%".to_owned())),
        (
            json!({"nodeStartupTimeout": "soon"}),
            Refusal::Duration("spec.nodeStartupTimeout".to_owned(), "soon".to_owned()),
        ),
        (
            json!({"unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "x"}]}),
            Refusal::Duration("spec.unhealthyConditions[0].timeout".to_owned(), "x".to_owned()),
        ),
        (
            json!({"remediationTemplate": {"kind": "FooTemplate", "name": "f"}}),
            Refusal::Template(" FooTemplate f".to_owned()),
        ),
    ] {
        let plan = decide(&snapshot(view(spec(&patch), fleet(1, 0), 0)));
        assert_eq!(plan, Plan::Refuse(expected), "{patch}");
    }
    let annotated =
        |name: &str, value: &str| check(&json!({"metadata": {"annotations": {name: value}}}));
    let strategy = annotated("machine.openshift.io/remediation-strategy", "none");
    let plan = decide(&snapshot(view(strategy, fleet(1, 0), 0)));
    assert_eq!(plan, Plan::Refuse(Refusal::Strategy("none".to_owned())));
    let paused = annotated("cluster.x-k8s.io/paused", "");
    assert_eq!(decide(&snapshot(view(paused, fleet(1, 0), 0))), Plan::NoOp(Reason::Paused));
}

fn bad(patch: &Value) -> Member {
    member(machine("m", patch), Some(node("m", "Unknown", &at(-60).to_string())))
}

fn annotated(name: &str, value: &str) -> Member {
    bad(&json!({"metadata": {"annotations": {name: value}}}))
}

#[test]
fn a_machine_that_would_not_be_replaced_or_is_kept_is_held() {
    let until = "2026-06-01T13:00:00Z";
    for (member, expected) in [
        (bad(&json!({})), Step::Remediate),
        (bad(&json!({"metadata": {"ownerReferences": []}})), Step::Held(Hold::NoController)),
        (
            bad(&json!({"status": {"authoritativeAPI": "ClusterAPI"}})),
            Step::Held(Hold::ManagedElsewhere),
        ),
        (bad(&json!({"status": {"authoritativeAPI": "MachineAPI"}})), Step::Remediate),
        (annotated("machinist.dev/preserve", "now"), Step::Held(Hold::Preserved(None))),
        (annotated("machinist.dev/preserve", "when-failed"), Step::Held(Hold::Preserved(None))),
        (annotated("machinist.dev/preserve", "false"), Step::Remediate),
        (
            annotated("machinist.dev/preserved-until", until),
            Step::Held(Hold::Preserved(until.parse().ok())),
        ),
        (annotated("machinist.dev/preserved-until", "2026-06-01T11:59:00Z"), Step::Remediate),
        (annotated("host.metal3.io/external-remediation", ""), Step::Held(Hold::External)),
    ] {
        let found = step(view(check(&json!({})), vec![member.clone()], 0), "m");
        assert_eq!(found, expected, "{member:?}");
    }
}

#[test]
fn a_machine_that_metal3_remediates_is_not_healthy_before_it_is_done() {
    let patch = json!({"metadata": {"annotations": {"host.metal3.io/external-remediation": ""}}});
    let member = member(machine("m", &patch), Some(node("m", "True", &at(-60).to_string())));
    assert_eq!(assessed(view(check(&json!({})), vec![member], 0)).healthy, 0);
}

fn master(name: &str, ready: &str) -> Member {
    let label = json!({"machine.openshift.io/cluster-api-machine-role": "master"});
    let machine = machine(name, &json!({"metadata": {"labels": label}}));
    member(machine, Some(node(name, ready, &at(-60).to_string())))
}

#[test]
fn machines_of_the_control_plane_are_replaced_one_at_a_time() {
    let masters = || vec![master("a", "Unknown"), master("b", "Unknown"), master("c", "True")];
    let check = || check(&json!({}));
    assert_eq!(remediated(view(check(), masters(), 0)), ["a"]);
    let mut members = masters();
    members.push(deleting("z"));
    assert_eq!(remediated(view(check(), members.clone(), 0)), ["a"], "z is a worker");
    let going = master("y", "True");
    let mut meta = going.meta.clone();
    meta.deleting = true;
    members.push(Member { meta, ..going });
    assert_eq!(remediated(view(check(), members, 0)), Vec::<String>::new());
    let mut elsewhere = view(check(), masters(), 0);
    elsewhere.control_plane_in_flight = Some(ObjectKey::new("ns", "other"));
    assert_eq!(remediated(elsewhere), Vec::<String>::new());
    let out =
        json!({"metadata": {"annotations": {"machinist.dev/remediate-control-plane": "false"}}});
    let opted_out = view(super::super::samples::check(&out), masters(), 0);
    assert_eq!(step(opted_out, "a"), Step::Held(Hold::ControlPlaneOptOut));
}

#[test]
fn replacement_in_the_control_plane_is_waited_for_until_its_node_is_ready() {
    let created = json!({"metadata": {
        "labels": {"machine.openshift.io/cluster-api-machine-role": "master"},
        "creationTimestamp": at(-2).to_string(),
    }});
    let joining = |ready: &str| {
        let node = node("new", ready, &at(-1).to_string());
        member(machine("new", &created), Some(node))
    };
    let with = |new: Member| {
        let members = vec![master("b", "Unknown"), master("c", "True"), new];
        remediated(view(check(&json!({})), members, 0))
    };
    assert_eq!(with(joining("False")), Vec::<String>::new());
    assert_eq!(with(joining("True")), ["b"]);
}

fn deployment(max: Value, replicas: usize, present: usize, in_flight: &[&str]) -> Deployment {
    let uid = |name: &&str| InFlight { uid: Uid(format!("uid-{name}").into()), until: Some(at(3)) };
    let limit = Limit {
        replicas,
        max_in_flight: serde_json::from_value(max).unwrap(),
        present,
        in_flight: in_flight.iter().map(uid).collect(),
    };
    Deployment { key: ObjectKey::new("ns", "d"), limit: Ok(limit) }
}

fn limited(deployment: Deployment, members: Vec<Member>) -> View {
    let mut view = view(check(&json!({})), members, 0);
    view.deployments.insert("uid-s".to_owned(), Arc::new(deployment));
    view
}

#[test]
fn the_budget_of_the_deployment_limits_replacements() {
    let cases: [(Value, usize, &[&str], usize); 9] = [
        (Value::Null, 5, &[], 1),
        (json!(2), 5, &[], 2),
        (json!("50%"), 5, &[], 3),
        (json!(0), 5, &[], 0),
        (json!(2), 5, &["new"], 1),
        (json!(1), 5, &["new"], 0),
        // One is missing, because it was deleted and its replacement does not exist yet.
        (json!(1), 4, &[], 0),
        (json!(2), 4, &[], 1),
        // An unhealthy Machine does not wait for itself.
        (json!(1), 5, &["bad-0"], 1),
    ];
    for (max, present, in_flight, expected) in cases {
        let deployment = deployment(max.clone(), 5, present, in_flight);
        let found = remediated(limited(deployment, fleet(3, 2))).len();
        assert_eq!(found, expected, "{max} {present} {in_flight:?}");
    }
    let held = step(limited(deployment(json!(1), 5, 5, &["new"]), fleet(1, 4)), "bad-0");
    let (deployment_key, until) = (ObjectKey::new("ns", "d"), Some(at(3)));
    let expected = Hold::Budget { deployment: deployment_key, in_flight: 1, limit: 1, until };
    assert_eq!(held, Step::Held(expected));
}

#[test]
fn without_a_readable_budget_nothing_is_remediated() {
    let unread = Deployment { key: ObjectKey::new("ns", "d"), limit: Err(NoLimit::Missing) };
    let hold = |why| Step::Held(Hold::NoBudget(ObjectKey::new("ns", "d"), why));
    let found = step(limited(unread, fleet(1, 0)), "bad-0");
    assert_eq!(found, hold(NoBudget::Unknown(NoLimit::Missing)));
    let found = step(limited(deployment(json!("many"), 1, 1, &[]), fleet(1, 0)), "bad-0");
    assert_eq!(found, hold(NoBudget::Invalid("many".to_owned())));
}

#[test]
fn a_clock_that_is_ahead_delays_a_timeout_by_no_more_than_the_timeout() {
    let mut late =
        member(machine("m", &json!({})), Some(node("m", "Unknown", "2099-01-01T00:00:00Z")));
    let since: Timestamp = "2099-01-01T00:00:00Z".parse().unwrap();
    late.first_seen = vec![(Some(since), at(0))];
    let step = |now| step(view(check(&json!({})), vec![late.clone()], now), "m");
    assert_eq!(step(0), Step::Wait(Some(at(5))));
    assert_eq!(step(4), Step::Wait(Some(at(5))));
    assert_eq!(step(5), Step::Remediate);
}

/// What happens to one of the Nodes.
#[derive(Debug, Clone)]
enum Change {
    Ready(usize, u8),
    Gone(usize),
    Minutes(i64),
    /// Machines that are being deleted are replaced by new ones.
    Replaced,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let one = prop_oneof![
        (0..8_usize, 0..3_u8).prop_map(|(node, status)| Change::Ready(node, status)),
        (0..8_usize).prop_map(Change::Gone),
        (1..8_i64).prop_map(Change::Minutes),
        Just(Change::Replaced),
    ];
    proptest::collection::vec(one, 1..60)
}

/// The state of one Machine in the property test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Node(u8, i64),
    Gone,
    Deleting,
    Booting(i64),
}

fn in_state(at_index: usize, state: State) -> Member {
    let name = format!("m-{at_index}");
    match state {
        State::Node(status, since) => {
            let status = ["True", "False", "Unknown"][usize::from(status)];
            with_node(&name, status, since)
        }
        State::Gone => member(machine(&name, &json!({})), None),
        State::Deleting => deleting(&name),
        State::Booting(since) => booting(&name, at(since)),
    }
}

proptest! {
    #[test]
    fn deletions_never_exceed_what_max_unhealthy_allows_and_spare_healthy_machines(
        all in changes(), max in 0..9_usize, percent in any::<bool>(),
    ) {
        let value = if percent { json!(format!("{}%", max * 12)) } else { json!(max) };
        let check = spec(&json!({ "maxUnhealthy": value }));
        let (mut states, mut now) = ([State::Node(0, -60); 8], 0);
        for change in all {
            match change {
                Change::Ready(node, status) => {
                    if let State::Node(old, _) = states[node] && old != status {
                        states[node] = State::Node(status, now);
                    }
                }
                Change::Gone(node) => {
                    if matches!(states[node], State::Node(..)) {
                        states[node] = State::Gone;
                    }
                }
                Change::Minutes(minutes) => now += minutes,
                Change::Replaced => {
                    for state in &mut states {
                        *state = match *state {
                            State::Deleting => State::Booting(now),
                            State::Booting(_) => State::Node(0, now),
                            other => other,
                        };
                    }
                }
            }
            let members: Vec<_> = states.iter().enumerate().map(|(n, one)| in_state(n, *one)).collect();
            let assessment = assessed(view(check.clone(), members, now));
            for one in assessment.remediations() {
                let index: usize = one.meta.key.name[2..].parse().unwrap();
                let bad = match states[index] {
                    State::Node(status, since) => status != 0 && now - since >= 5,
                    State::Gone => true,
                    State::Deleting => false,
                    State::Booting(since) => now - since >= 10,
                };
                prop_assert!(bad, "{:?} at {now}", states[index]);
                states[index] = State::Deleting;
            }
            let limit = if percent { 8 * max * 12 / 100 } else { max };
            let away = states.iter().filter(|one| matches!(one, State::Deleting)).count();
            if assessment.remediations().next().is_some() {
                prop_assert!(away <= limit, "{away} of {limit}");
            }
        }
    }
}

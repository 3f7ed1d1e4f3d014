use machinist_domain::retry::Category;
use serde_json::json;

use super::super::error::Refusal;
use super::super::samples::{ago, machine, member, members, now, set, snapshot, view};
use super::super::snapshot::{Member, View};
use super::*;

/// A set of three whose status is up to date.
fn settled() -> Value {
    let mut set = set();
    set["status"] = json!({
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 0, "availableReplicas": 0,
        "observedGeneration": 7, "labelSelector": "a=b", "conditions": [starting()],
    });
    set
}

/// `MachinesReady` of Machines without a Node.
fn starting() -> Value {
    json!({"type": "MachinesReady", "status": "False", "severity": "Info", "reason": "Starting",
        "message": messages::MACHINES_STARTING})
}

fn condition(status: &Value, kind: &str) -> Value {
    let mut list = status["conditions"].as_array().into_iter().flatten();
    list.find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
}

fn without_conditions(report: &Report) -> Option<Value> {
    let mut status = report.status.clone()?;
    status.as_object_mut()?.remove("conditions");
    Some(status)
}

fn failure(category: Category) -> Failure {
    Failure { category, retry: Retry::Backoff, message: "not so".to_owned() }
}

const SETTLED: Plan = Plan::NoOp(Reason::Settled);

fn run(set: &Value, members: Vec<Member>, (plan, outcome): &(Plan, Outcome)) -> Report {
    report(&snapshot(view(set, members)), plan, outcome, now())
}

fn run_plan(set: &Value, members: Vec<Member>, plan: Plan) -> Report {
    run(set, members, &(plan, Outcome::Nothing))
}

fn executed(plan: Plan, machines: &[&str], failure: Option<Failure>) -> (Plan, Outcome) {
    (plan, Outcome::Executed(Executed { machines: keys(machines), skipped: 0, failure }))
}

fn create(machines: &[&str], failure: Option<Failure>) -> (Plan, Outcome) {
    executed(Plan::Create(Vec::new()), machines, failure)
}

fn delete(machines: &[&str], failure: Option<Failure>) -> (Plan, Outcome) {
    executed(Plan::Delete(Vec::new()), machines, failure)
}

fn move_window(failure: Option<Failure>) -> (Plan, Outcome) {
    executed(Plan::MoveWindow { to: "0..3".parse().unwrap() }, &[], failure)
}

fn claim(machines: &[&str], failure: Option<Failure>) -> (Plan, Outcome) {
    let machine = |name| vec![machine(name, &json!({}))];
    executed(Plan::Claim { adopt: machine("a"), release: machine("b") }, machines, failure)
}

fn reasons(report: &Report) -> Vec<&'static str> {
    report.events.iter().map(|event| event.reason.as_str()).collect()
}

fn ready(name: &str, since: Option<Timestamp>) -> Member {
    let mut member = member(machine(name, &json!({})));
    if let Some(seen) = &mut member.seen {
        seen.ready = Some(since);
    }
    member
}

fn keys(names: &[&str]) -> Vec<ObjectKey> {
    names.iter().map(|name| ObjectKey::new("ns", *name)).collect()
}

#[test]
fn waits_while_a_create_may_still_be_executed() {
    let wait = Duration::from_secs(7);
    let report = run_plan(&settled(), members(3), Plan::NoOp(Reason::InFlight(wait)));
    let expected = (ReconcileResult::Waiting, Some(Retry::Again(wait)), None);
    assert_eq!((report.result, report.retry, report.status), expected);
}

#[test]
fn an_up_to_date_set_needs_no_report() {
    let report = run_plan(&settled(), members(3), SETTLED);
    assert_eq!(report, Report::quiet(ReconcileResult::Settled));
}

#[test]
fn the_first_status_is_complete() {
    let report = run_plan(&set(), members(3), SETTLED);
    let expected = json!({
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 0, "availableReplicas": 0,
        "labelSelector": "a=b", "observedGeneration": 7,
    });
    assert_eq!(without_conditions(&report), Some(expected));
    let ready = condition(&report.status.unwrap(), "MachinesReady");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Starting")));
}

#[test]
fn counts_created_machines_and_not_deleted_ones() {
    let report = run(&settled(), members(0), &create(&["x", "y"], None));
    assert_eq!(report.status, Some(json!({"replicas": 2, "fullyLabeledReplicas": 2})));
    assert_eq!(report.events[0].note, "Created 2 Machines (x, y)");
    let report = run(&settled(), members(5), &delete(&["m0", "m1"], None));
    assert_eq!(report.status, None, "five less two are the three of the status");
    assert_eq!(reasons(&report), ["Scaled"]);
}

#[test]
fn observes_the_generation_when_the_spec_is_applied_and_not_before() {
    let mut set = settled();
    set["metadata"]["generation"] = json!(8);
    let observed = |done: &(Plan, Outcome), existing: usize| {
        let status = run(&set, members(existing), done).status.unwrap_or_default();
        status["observedGeneration"].as_i64()
    };
    let nothing = |plan| (plan, Outcome::Nothing);
    assert_eq!(observed(&nothing(SETTLED), 3), Some(8));
    assert_eq!(observed(&create(&["x"], None), 2), Some(8));
    assert_eq!(observed(&create(&["x"], None), 1), None, "one is still missing");
    assert_eq!(observed(&create(&["x"], Some(failure(Category::Unavailable))), 2), None);
    assert_eq!(observed(&move_window(None), 3), None);
    assert_eq!(observed(&nothing(Plan::Refuse(Refusal::Replicas(-1))), 3), None);
}

#[test]
fn counts_ready_available_and_labeled_machines() {
    let mut set = settled();
    set["spec"]["minReadySeconds"] = json!(60);
    let relabelled = member(machine("r", &json!({"metadata": {"labels": {"c": "other"}}})));
    let undecodable = Member { key: ObjectKey::new("ns", "u"), seen: None };
    let all = vec![
        ready("long", Some(ago(61))),
        ready("just", Some(ago(60))),
        ready("short", Some(ago(20))),
        ready("undated", None),
        relabelled,
        undecodable,
    ];
    let report = run_plan(&set, all, SETTLED);
    let expected = json!({"replicas": 6, "fullyLabeledReplicas": 4, "readyReplicas": 4, "availableReplicas": 1});
    assert_eq!(without_conditions(&report), Some(expected));
    // "just" is next: a Machine is available only after the minute.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_millis(1))));
}

#[test]
fn requeues_when_the_next_machine_becomes_available() {
    let mut set = settled();
    set["spec"]["minReadySeconds"] = json!(60);
    let retry = |all| run_plan(&set, all, SETTLED).retry;
    let later = retry(vec![ready("a", Some(ago(20))), ready("b", Some(ago(50)))]);
    assert_eq!(later, Some(Retry::Again(Duration::from_millis(10_001))));
    assert_eq!(retry(vec![ready("a", Some(ago(100)))]), None);
    assert_eq!(retry(members(3)), None, "a Node that becomes ready is an event");
    set["spec"]["minReadySeconds"] = json!(0);
    let report = run_plan(&set, vec![ready("a", None)], SETTLED);
    assert_eq!(report.status.unwrap()["availableReplicas"], 1);
}

#[test]
fn reports_an_invalid_set_everywhere_and_waits_for_an_edit() {
    let report = run_plan(&settled(), members(3), Plan::Refuse(Refusal::Replicas(-1)));
    let status = report.status.clone().unwrap();
    let text = "spec.replicas must not be negative (got -1)";
    assert_eq!(status["errorReason"], "InvalidConfiguration");
    assert_eq!(status["errorMessage"], text);
    let failure = condition(&status, "ReplicaFailure");
    assert_eq!(
        (&failure["status"], &failure["reason"]),
        (&json!("True"), &json!("InvalidConfiguration"))
    );
    assert_eq!((report.result, report.retry), (ReconcileResult::Refused, Some(Retry::OnChange)));
    assert_eq!((reasons(&report), &*report.events[0].note), (vec!["ReconcileError"], text));
}

#[test]
fn removes_errors_when_they_are_fixed_and_keeps_other_conditions() {
    let mut set = settled();
    set["status"]["errorReason"] = json!("InvalidConfiguration");
    set["status"]["errorMessage"] = json!("no");
    set["status"]["conditions"] = json!([
        {"type": "ReplicaFailure", "status": "True", "reason": "X"},
        {"type": "Theirs", "status": "True"},
        starting(),
    ]);
    let report = run_plan(&set, members(3), SETTLED);
    let theirs = json!([starting(), {"type": "Theirs", "status": "True"}]);
    let expected = json!({"errorReason": null, "errorMessage": null, "conditions": theirs});
    assert_eq!(report.status, Some(expected));
}

#[test]
fn reports_rejected_writes_and_not_outages() {
    let create = |category| create(&[], Some(failure(category)));
    let report = run(&settled(), members(3), &create(Category::Unauthorised));
    let status = report.status.clone().unwrap();
    assert_eq!(condition(&status, "ReplicaFailure")["reason"], "FailedCreate");
    assert_eq!(status.get("errorReason"), None, "it may end by itself");
    assert_eq!(reasons(&report), ["FailedCreate"]);
    assert_eq!(report.retry, Some(Retry::Backoff));
    for category in
        [Category::Conflict, Category::NotLeader, Category::Unavailable, Category::Throttled]
    {
        let report = run(&settled(), members(3), &create(category));
        assert_eq!((report.status, report.events.len()), (None, 0), "{category:?}");
    }
    let delete = delete(&[], Some(failure(Category::Unauthorised)));
    assert_eq!(reasons(&run(&settled(), members(3), &delete)), ["FailedDelete"]);
}

#[test]
fn an_outage_keeps_an_earlier_failure_condition() {
    let mut set = settled();
    set["status"]["conditions"] =
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "X"}, starting()]);
    let outage = move_window(Some(failure(Category::Unavailable)));
    assert_eq!(run(&set, members(3), &outage).status, None);
}

#[test]
fn reports_a_failed_claim_until_it_is_over_and_applies_the_rest_of_the_spec() {
    let refused = Failure { retry: Retry::OnChange, ..failure(Category::Unauthorised) };
    let mut stored = settled();
    stored["status"]["observedGeneration"] = json!(6);
    let first = run(&stored, members(3), &claim(&[], Some(refused))).status.unwrap();
    assert_eq!(condition(&first, "ReplicaFailure")["status"], "True");
    assert_eq!(first.get("observedGeneration"), None);
    stored["status"]["conditions"] = first["conditions"].clone();
    let later = |stored: &Value, cause: Option<&str>| {
        let view = View { claim_failure: cause.map(Into::into), ..view(stored, members(3)) };
        report(&snapshot(view), &SETTLED, &Outcome::Nothing, now()).status
    };
    assert_eq!(later(&stored, Some("not so")), Some(json!({"observedGeneration": 7})));
    stored["status"]["observedGeneration"] = json!(7);
    assert_eq!(later(&stored, Some("not so")), None);
    assert_eq!(later(&stored, None), Some(json!({"conditions": [starting()]})));
}

#[test]
fn requeues_soon_after_name_collisions_and_outdated_plans() {
    let executed = Executed { skipped: 1, ..Executed::default() };
    for outcome in [Outcome::Executed(executed.clone()), Outcome::Outdated] {
        let done = (Plan::Create(Vec::new()), outcome);
        assert_eq!(run(&settled(), members(3), &done).retry, Some(Retry::Soon));
    }
    // Another Machine becomes available later.
    let mut patient = settled();
    patient["spec"]["minReadySeconds"] = json!(600);
    let mut ready = members(1);
    ready[0].seen.as_mut().unwrap().ready = Some(Some(ago(60)));
    let changed = (Plan::Delete(Vec::new()), Outcome::Executed(executed));
    assert_eq!(run(&patient, ready, &changed).retry, Some(Retry::Soon));
}

#[test]
fn reports_adopted_and_released_machines() {
    let report = run(&settled(), members(3), &claim(&["a", "b"], None));
    let mut notes: Vec<_> = report.events.iter().map(|event| &*event.note).collect();
    notes.sort_unstable();
    let expected = [
        "Adopted a: its labels match the selector",
        "Released b: its labels no longer match the selector",
    ];
    assert_eq!((report.status, notes), (None, expected.to_vec()));
}

#[test]
fn sets_the_paused_condition_with_the_feature_gate() {
    let mut snapshot = snapshot(view(&settled(), members(3)));
    snapshot.obey_migration = true;
    let report = |reason| report(&snapshot, &Plan::NoOp(reason), &Outcome::Nothing, now());
    let condition = |reason| condition(&report(reason).status.unwrap(), "Paused");
    let running = condition(Reason::Settled);
    assert_eq!(
        (&running["type"], &running["status"], &running["severity"]),
        (&json!("Paused"), &json!("False"), &json!("Info"))
    );
    let paused = condition(Reason::ManagedElsewhere(MachineAuthority::ClusterApi));
    assert_eq!(
        (&paused["status"], &paused["reason"]),
        (&json!("True"), &json!("AuthoritativeAPINotMachineAPI"))
    );
    let odd = Reason::ManagedElsewhere(MachineAuthority::Unknown);
    assert_eq!(reasons(&report(odd)), ["ReconcileError"]);
    assert_eq!(condition(odd)["status"], json!("True"));
}

#[test]
fn reports_an_authority_that_cannot_be_set_without_a_condition() {
    let set_authority = |failure| {
        let plan = Plan::SetAuthority(MachineAuthority::MachineApi);
        let report = run(&settled(), members(3), &executed(plan, &[], failure));
        assert_eq!(report.status, None);
        (report.events.into_iter().map(|event| event.note).collect::<Vec<_>>(), report.retry)
    };
    assert_eq!(set_authority(None), (vec![], None));
    let outage = set_authority(Some(failure(Category::Unavailable)));
    assert_eq!(outage, (vec![], Some(Retry::Backoff)));
    let invalid = Failure { retry: Retry::OnChange, ..failure(Category::InvalidConfiguration) };
    let text = "Cannot update the status: not so".to_owned();
    assert_eq!(set_authority(Some(invalid)), (vec![text], Some(Retry::Backoff)));
}

#[test]
fn holds_back_changing_counts_and_reports_everything_else_at_once() {
    let run_within = |set: &Value, hold| {
        let view = View { hold_counts: hold, ..view(set, members(3)) };
        report(&snapshot(view), &SETTLED, &Outcome::Nothing, now())
    };
    let second = Duration::from_secs(1);
    let mut changing = settled();
    changing["status"]["readyReplicas"] = json!(2);
    let held = run_within(&changing, second);
    assert_eq!((held.status, held.retry), (None, Some(Retry::Again(second))));
    let written = run_within(&changing, Duration::ZERO);
    assert_eq!((written.status, written.retry), (Some(json!({"readyReplicas": 0})), None));
    changing["metadata"]["generation"] = json!(8);
    let last = run_within(&changing, second).status.unwrap();
    assert_eq!(last["observedGeneration"], 8, "clients wait for it");
    let settled = run_within(&settled(), second);
    assert_eq!((settled.status, settled.retry), (None, None), "nothing has changed");
}

#[test]
fn a_failed_claim_does_not_block_scaling_and_is_retried() {
    for category in [Category::InvalidConfiguration, Category::Unauthorised, Category::Unexpected] {
        let failure = Failure { retry: Retry::OnChange, ..failure(category) };
        let report = run(&settled(), members(3), &claim(&[], Some(failure)));
        assert_eq!(report.retry, Some(Retry::Soon), "{category:?}");
    }
    let time = Duration::from_secs(7);
    let skipped = View { claim_retry: Some(time), ..view(&settled(), members(3)) };
    let skipped = snapshot(skipped);
    let undeletable = Plan::NoOp(Reason::NoneDeletable { excess: 1 });
    for plan in [SETTLED, undeletable, Plan::Refuse(Refusal::Replicas(-1))] {
        let retry = report(&skipped, &plan, &Outcome::Nothing, now()).retry;
        assert_eq!(retry, Some(Retry::Again(time)), "{plan}");
    }
}

#[test]
fn reports_a_complete_set_at_once() {
    let held = |members| {
        let view = View { hold_counts: Duration::from_secs(1), ..view(&settled(), members) };
        report(&snapshot(view), &SETTLED, &Outcome::Nothing, now())
    };
    let all = ["m0", "m1", "m2"];
    let ready_for = |names: &[&str]| names.iter().map(|name| ready(name, Some(ago(5)))).collect();
    let status = json!({"readyReplicas": 3, "availableReplicas": 3});
    let complete = held(ready_for(&all));
    assert_eq!(without_conditions(&complete), Some(status));
    assert_eq!(condition(&complete.status.unwrap(), "MachinesReady")["status"], "True");
    let mut two: Vec<_> = ready_for(&all[..2]);
    two.push(member(machine(all[2], &json!({}))));
    assert_eq!(held(two).status, None, "one is not ready yet");
}

/// Members that a cloud without capacity keeps from starting.
fn blocked() -> Vec<Member> {
    let ready = json!({"type": "Ready", "status": "False", "severity": "Warning",
        "reason": "CapacityExhausted", "message": "No capacity"});
    let status = json!({"status": {"conditions": [ready]}});
    ["m0", "m1", "m2"].map(|name| member(machine(name, &status))).into()
}

#[test]
fn holds_back_machines_ready_together_with_the_counts() {
    let held = |set: &Value, hold| {
        let view = View { hold_counts: hold, ..view(set, blocked()) };
        report(&snapshot(view), &SETTLED, &Outcome::Nothing, now())
    };
    let second = Duration::from_secs(1);
    let later = held(&settled(), second);
    assert_eq!((later.status, later.retry), (None, Some(Retry::Again(second))));
    let status = held(&settled(), Duration::ZERO).status.unwrap();
    assert_eq!(status.as_object().unwrap().len(), 1, "{status}");
    let text = "3 of 3 Machines are not ready: CapacityExhausted: No capacity";
    assert_eq!(condition(&status, "MachinesReady")["message"], text);
    let mut over = settled();
    over["status"]["conditions"] =
        json!([starting(), {"type": "ReplicaFailure", "status": "True", "reason": "X"}]);
    assert!(held(&over, second).status.is_some(), "another condition is not held back");
    over["status"]["conditions"] = status["conditions"].clone();
    assert_eq!(held(&over, Duration::ZERO), Report::quiet(ReconcileResult::Settled));
}

#[test]
fn reports_blocked_machines_as_an_event_where_the_schema_has_no_conditions() {
    let mut set = settled();
    set["status"]["conditions"] = json!([]);
    let report = |members, plan| {
        let mut snapshot = snapshot(view(&set, members));
        snapshot.conditions_field = Field::Dropped;
        report(&snapshot, &plan, &Outcome::Nothing, now())
    };
    let blocked = report(blocked(), SETTLED);
    assert_eq!((reasons(&blocked), blocked.status), (vec!["MachinesNotReady"], None));
    let text = "Machines are not ready: CapacityExhausted: No capacity";
    assert_eq!(blocked.events[0].note, text);
    assert_eq!(report(members(3), SETTLED), Report::quiet(ReconcileResult::Settled));
    let elsewhere = Plan::NoOp(Reason::ManagedElsewhere(MachineAuthority::ClusterApi));
    assert_eq!(report(members(3), elsewhere).status, None);
}

#[test]
fn reports_excess_machines_that_cannot_be_deleted() {
    let plan = Plan::NoOp(Reason::NoneDeletable { excess: 2 });
    let report = run_plan(&settled(), members(5), plan);
    assert_eq!(reasons(&report), ["FailedDelete"]);
    let status = report.status.unwrap();
    let failure = condition(&status, "ReplicaFailure");
    assert_eq!(failure["reason"], "FailedDelete");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("scale down by 2"), "{message}");
    assert_eq!(status.get("observedGeneration"), None, "the spec is not applied");
}

#[test]
fn omits_a_selector_that_is_too_long_for_the_crd() {
    let mut set = set();
    let values: Vec<String> = (0..100).map(|n| format!("{n:060}")).collect();
    set["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": values}]});
    let report = run_plan(&set, members(3), SETTLED);
    assert_eq!(report.status.unwrap().get("labelSelector"), None);
}

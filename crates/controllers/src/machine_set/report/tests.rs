//! What is told of every outcome.

use serde_json::json;

use super::super::samples::{ago, family, machine, member, members, now, set, snapshot};
use super::super::snapshot::{Family, Member};
use super::*;

/// A set of three whose status says so.
fn settled() -> Value {
    let mut set = set();
    set["status"] = json!({
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 0, "availableReplicas": 0,
        "observedGeneration": 7, "labelSelector": "a=b",
    });
    set
}

fn failure(category: Category) -> Failure {
    Failure { category, retry: Retry::Backoff, message: "not so".to_owned() }
}

fn tell(set: &Value, members: Vec<Member>, outcome: &Outcome) -> Report {
    report(&snapshot(family(set, members)), outcome, now())
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
fn a_set_that_says_all_is_quiet() {
    let report = tell(&settled(), members(3), &Outcome::Left(Why::Settled));
    assert_eq!(report, Report::quiet(PassResult::Settled));
}

#[test]
fn the_first_status_says_everything() {
    let report = tell(&set(), members(3), &Outcome::Left(Why::Settled));
    let expected = json!({
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 0, "availableReplicas": 0,
        "labelSelector": "a=b", "observedGeneration": 7,
    });
    assert_eq!(report.status, Some(expected));
}

#[test]
fn what_a_pass_made_counts_and_what_it_deleted_does_not() {
    let made = Outcome::Created { made: keys(&["x", "y"]), met: 0, failure: None };
    let report = tell(&settled(), members(0), &made);
    assert_eq!(report.status, Some(json!({"replicas": 2, "fullyLabeledReplicas": 2})));
    assert_eq!(report.events[0].note, "created 2 (x, y)");
    let gone = Outcome::Deleted { gone: keys(&["m0", "m1"]), failure: None };
    let report = tell(&settled(), members(5), &gone);
    assert_eq!(report.status, None, "five less two are the three that it says");
    assert_eq!(reasons(&report), ["Scaled"]);
}

#[test]
fn the_generation_is_observed_when_the_wish_is_carried_out_and_not_before() {
    let mut set = settled();
    set["metadata"]["generation"] = json!(8);
    let observed = |outcome: &Outcome, there: usize| {
        let status = tell(&set, members(there), outcome).status.unwrap_or_default();
        status["observedGeneration"].as_i64()
    };
    assert_eq!(observed(&Outcome::Left(Why::Settled), 3), Some(8));
    let made = |failure| Outcome::Created { made: keys(&["x"]), met: 0, failure };
    assert_eq!(observed(&made(None), 2), Some(8));
    assert_eq!(observed(&made(None), 1), None, "one is still missing");
    assert_eq!(observed(&made(Some(failure(Category::Unavailable))), 2), None);
    assert_eq!(observed(&Outcome::Moved(Ok(())), 3), None);
    assert_eq!(observed(&Outcome::Refused(Refusal::Replicas(-1)), 3), None);
}

#[test]
fn readiness_availability_and_labels_are_counted_one_by_one() {
    let mut set = settled();
    set["spec"]["minReadySeconds"] = json!(60);
    let relabelled = member(machine("r", &json!({"metadata": {"labels": {"c": "other"}}})));
    let unread = Member { key: ObjectKey::new("ns", "u"), seen: None };
    let all = vec![
        ready("long", Some(ago(61))),
        ready("just", Some(ago(60))),
        ready("short", Some(ago(20))),
        ready("undated", None),
        relabelled,
        unread,
    ];
    let report = tell(&set, all, &Outcome::Left(Why::Settled));
    let expected = json!({"replicas": 6, "fullyLabeledReplicas": 4, "readyReplicas": 4, "availableReplicas": 1});
    assert_eq!(report.status, Some(expected));
    // "just" is next: a minute must be over, not just reached.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_millis(1))));
}

#[test]
fn who_comes_next_is_waited_for_exactly_and_nobody_else() {
    let mut set = settled();
    set["spec"]["minReadySeconds"] = json!(60);
    let retry = |all| tell(&set, all, &Outcome::Left(Why::Settled)).retry;
    let later = retry(vec![ready("a", Some(ago(20))), ready("b", Some(ago(50)))]);
    assert_eq!(later, Some(Retry::Again(Duration::from_millis(10_001))));
    assert_eq!(retry(vec![ready("a", Some(ago(100)))]), None);
    assert_eq!(retry(members(3)), None, "who is not ready tells us when it is");
    set["spec"]["minReadySeconds"] = json!(0);
    let report = tell(&set, vec![ready("a", None)], &Outcome::Left(Why::Settled));
    assert_eq!(report.status.unwrap()["availableReplicas"], 1);
}

#[test]
fn a_set_that_is_not_valid_says_so_everywhere_and_waits_for_an_edit() {
    let report = tell(&settled(), members(3), &Outcome::Refused(Refusal::Replicas(-1)));
    let status = report.status.clone().unwrap();
    let text = "spec.replicas is -1, which is less than none";
    assert_eq!(status["errorReason"], "InvalidConfiguration");
    assert_eq!(status["errorMessage"], text);
    assert_eq!(status["conditions"][0]["type"], "ReplicaFailure");
    assert_eq!(status["conditions"][0]["status"], "True");
    assert_eq!(status["conditions"][0]["reason"], "InvalidConfiguration");
    assert_eq!((report.result, report.retry), (PassResult::Refused, Some(Retry::OnChange)));
    assert_eq!((reasons(&report), &*report.events[0].note), (vec!["ReconcileError"], text));
}

#[test]
fn what_was_wrong_is_taken_back_when_it_is_right_and_others_conditions_stay() {
    let mut set = settled();
    set["status"]["errorReason"] = json!("InvalidConfiguration");
    set["status"]["errorMessage"] = json!("no");
    set["status"]["conditions"] = json!([
        {"type": "ReplicaFailure", "status": "True", "reason": "X"},
        {"type": "Theirs", "status": "True"},
    ]);
    let report = tell(&set, members(3), &Outcome::Left(Why::Settled));
    let expected = json!({"errorReason": null, "errorMessage": null, "conditions": [{"type": "Theirs", "status": "True"}]});
    assert_eq!(report.status, Some(expected));
}

#[test]
fn a_refusal_to_create_is_told_and_an_outage_is_not() {
    let create =
        |category| Outcome::Created { made: Vec::new(), met: 0, failure: Some(failure(category)) };
    let report = tell(&settled(), members(3), &create(Category::Unauthorised));
    let status = report.status.clone().unwrap();
    assert_eq!(status["conditions"][0]["reason"], "FailedCreate");
    assert_eq!(status.get("errorReason"), None, "it may mend itself");
    assert_eq!(reasons(&report), ["FailedCreate"]);
    assert_eq!(report.retry, Some(Retry::Backoff));
    for category in
        [Category::Conflict, Category::NotLeader, Category::Unavailable, Category::Throttled]
    {
        let report = tell(&settled(), members(3), &create(category));
        assert_eq!((report.status, report.events.len()), (None, 0), "{category:?}");
    }
    let delete =
        Outcome::Deleted { gone: Vec::new(), failure: Some(failure(Category::Unauthorised)) };
    assert_eq!(reasons(&tell(&settled(), members(3), &delete)), ["FailedDelete"]);
}

#[test]
fn an_outage_does_not_take_back_what_was_wrong_before() {
    let mut set = settled();
    set["status"]["conditions"] =
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "X"}]);
    let outcome = Outcome::Moved(Err(failure(Category::Unavailable)));
    assert_eq!(tell(&set, members(3), &outcome).status, None);
}

#[test]
fn a_machine_that_may_not_be_adopted_is_told_until_that_is_over_and_holds_up_nothing() {
    let refused = Failure {
        category: Category::Unauthorised,
        retry: Retry::OnChange,
        message: "not so".to_owned(),
    };
    let claimed =
        Outcome::Claimed { adopted: Vec::new(), released: Vec::new(), failure: Some(refused) };
    let mut said = settled();
    said["status"]["observedGeneration"] = json!(6);
    let first = tell(&said, members(3), &claimed).status.unwrap();
    assert_eq!(first["conditions"][0]["type"], "ReplicaFailure");
    assert_eq!(first.get("observedGeneration"), None);
    said["status"]["conditions"] = first["conditions"].clone();
    let later = |said: &Value, refusal: Option<&str>| {
        let family = Family { refusal: refusal.map(Into::into), ..family(said, members(3)) };
        report(&snapshot(family), &Outcome::Left(Why::Settled), now()).status
    };
    assert_eq!(later(&said, Some("not so")), Some(json!({"observedGeneration": 7})));
    said["status"]["observedGeneration"] = json!(7);
    assert_eq!(later(&said, Some("not so")), None);
    assert_eq!(later(&said, None), Some(json!({"conditions": []})));
}

#[test]
fn names_that_were_taken_bring_us_back_soon() {
    let outcome = Outcome::Created { made: Vec::new(), met: 1, failure: None };
    assert_eq!(tell(&settled(), members(3), &outcome).retry, Some(Retry::Soon));
    assert_eq!(tell(&settled(), members(3), &Outcome::Void).retry, Some(Retry::Soon));
}

#[test]
fn adoption_and_release_are_told() {
    let outcome = Outcome::Claimed { adopted: keys(&["a"]), released: keys(&["b"]), failure: None };
    let report = tell(&settled(), members(3), &outcome);
    let mut reasons = reasons(&report);
    reasons.sort_unstable();
    assert_eq!((report.status, reasons), (None, vec!["Adopted", "Released"]));
}

#[test]
fn pausing_is_said_where_somebody_else_may_be_in_charge() {
    let mut snapshot = snapshot(family(&settled(), members(3)));
    snapshot.obey_migration = true;
    let condition =
        |outcome| report(&snapshot, &outcome, now()).status.unwrap()["conditions"][0].clone();
    let running = condition(Outcome::Left(Why::Settled));
    assert_eq!(
        (&running["type"], &running["status"], &running["severity"]),
        (&json!("Paused"), &json!("False"), &json!("Info"))
    );
    let paused = condition(Outcome::Left(Why::Elsewhere(MachineAuthority::ClusterApi)));
    assert_eq!(
        (&paused["status"], &paused["reason"]),
        (&json!("True"), &json!("AuthoritativeAPINotMachineAPI"))
    );
    let odd = Outcome::Left(Why::Elsewhere(MachineAuthority::Unknown));
    assert_eq!(reasons(&report(&snapshot, &odd, now())), ["ReconcileError"]);
    assert_eq!(condition(odd)["status"], json!("True"));
    let assigned = |to| report(&snapshot, &Outcome::Left(Why::NotAssigned(to)), now()).status;
    for (wanted, said) in [
        (MachineAuthority::MachineApi, "MachineAPI"),
        (MachineAuthority::ClusterApi, "ClusterAPI"),
        (MachineAuthority::Unset, "MachineAPI"),
    ] {
        assert_eq!(assigned(wanted), Some(json!({"authoritativeAPI": said})));
    }
}

#[test]
fn counts_that_still_change_are_said_now_and_then_and_everything_else_at_once() {
    let tell_within = |set: &Value, hold, outcome: &Outcome| {
        let family = Family { hold_counts: hold, ..family(set, members(3)) };
        report(&snapshot(family), outcome, now())
    };
    let second = Duration::from_secs(1);
    let mut changing = settled();
    changing["status"]["readyReplicas"] = json!(2);
    let done = Outcome::Left(Why::Settled);
    let held = tell_within(&changing, second, &done);
    assert_eq!((held.status, held.retry), (None, Some(Retry::Again(second))));
    let said = tell_within(&changing, Duration::ZERO, &done);
    assert_eq!((said.status, said.retry), (Some(json!({"readyReplicas": 0})), None));
    changing["metadata"]["generation"] = json!(8);
    let last = tell_within(&changing, second, &done).status.unwrap();
    assert_eq!(last["observedGeneration"], 8, "who waits for it is not kept waiting");
    let settled = tell_within(&settled(), second, &done);
    assert_eq!((settled.status, settled.retry), (None, None), "nothing is to be said");
}

#[test]
fn what_cannot_be_claimed_holds_up_nothing_and_is_tried_again_in_time() {
    let claimed = |category| {
        let failure = Failure { retry: Retry::OnChange, ..failure(category) };
        let (adopted, released) = (Vec::new(), Vec::new());
        let outcome = Outcome::Claimed { adopted, released, failure: Some(failure) };
        tell(&settled(), members(3), &outcome).retry
    };
    for category in [Category::InvalidConfiguration, Category::Unauthorised, Category::Unexpected] {
        assert_eq!(
            claimed(category),
            Some(Retry::Soon),
            "the rest of the wish waits: {category:?}"
        );
    }
    let time = Duration::from_secs(7);
    let passed_over = Family { claim_again: Some(time), ..family(&settled(), members(3)) };
    let report = report(&snapshot(passed_over), &Outcome::Left(Why::Settled), now());
    assert_eq!(report.retry, Some(Retry::Again(time)));
}

#[test]
fn that_all_machines_are_there_is_said_at_once() {
    let held = |members| {
        let family = Family { hold_counts: Duration::from_secs(1), ..family(&settled(), members) };
        report(&snapshot(family), &Outcome::Left(Why::Settled), now()).status
    };
    let all = ["m0", "m1", "m2"];
    let ready_for = |names: &[&str]| names.iter().map(|name| ready(name, Some(ago(5)))).collect();
    let said = json!({"readyReplicas": 3, "availableReplicas": 3});
    assert_eq!(held(ready_for(&all)), Some(said));
    let mut two: Vec<_> = ready_for(&all[..2]);
    two.push(member(machine(all[2], &json!({}))));
    assert_eq!(held(two), None, "one is still to come, and more may be said then");
}

#[test]
fn machines_too_many_that_nobody_can_read_are_named() {
    let report = tell(&settled(), members(5), &Outcome::Left(Why::NobodyToDelete { excess: 2 }));
    assert_eq!(reasons(&report), ["FailedDelete"]);
    let status = report.status.unwrap();
    let condition = &status["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedDelete"))
    );
    assert!(condition["message"].as_str().unwrap().starts_with("2 machines too many"));
    assert_eq!(status.get("observedGeneration"), None, "the wish is not carried out");
}

#[test]
fn a_selector_too_long_for_the_definition_is_left_out() {
    let mut set = set();
    let values: Vec<String> = (0..100).map(|n| format!("{n:060}")).collect();
    set["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": values}]});
    let report = tell(&set, members(3), &Outcome::Left(Why::Settled));
    assert_eq!(report.status.unwrap().get("labelSelector"), None);
}

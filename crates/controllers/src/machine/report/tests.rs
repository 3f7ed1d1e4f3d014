//! What is told about a machine after every kind of pass, and that it is told once.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::report::PassResult;
use machinist_domain::retry::Category;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, Instance, Sighting};
use machinist_provider::spec::SpecError;
use serde_json::{Value, json};

use super::super::error::{Fatal, Refusal};
use super::super::samples::{
    all, conditions, deleting, failure, instance, launch, merge, node, now, object, recorded,
    snapshot, view, view_of,
};
use super::super::snapshot::FailureFields;
use super::*;

/// Reports, and shows that a second report of the same has nothing to add.
fn told(view: View, object: &Value, outcome: &Outcome) -> (Report, Value) {
    let (node, rules, sighting) = (view.node.clone(), view.rules, view.sighting.clone());
    let report = report(&snapshot(view), outcome, now());
    let mut after = object.clone();
    if let Some(status) = &report.status {
        assert!(status.get("lastUpdated").is_some(), "{status}");
        merge(&mut after["status"], status);
        let again = View { sighting, node, rules, ..view_of(&after) };
        let again = super::report(&snapshot(again), outcome, now() + Duration::from_secs(100));
        assert_eq!(again.status, None, "told twice");
    }
    (report, after["status"].take())
}

fn of(patch: &Value, outcome: &Outcome) -> (Report, Value) {
    told(view(patch), &object(patch), outcome)
}

fn condition(status: &Value, kind: &str) -> String {
    let list = status["conditions"].as_array().into_iter().flatten();
    let found = list.into_iter().find(|condition| condition["type"] == kind);
    let word = |name: &str| found.and_then(|found| found[name].as_str()).unwrap_or("-").to_owned();
    format!("{}/{}", word("status"), word("reason"))
}

fn message(status: &Value, kind: &str) -> String {
    let list = status["conditions"].as_array().into_iter().flatten();
    let found = list.into_iter().find(|condition| condition["type"] == kind);
    found.and_then(|found| found["message"].as_str()).unwrap_or_default().to_owned()
}

fn reasons(report: &Report) -> Vec<&'static str> {
    report.events.iter().map(|event| event.reason.as_str()).collect()
}

fn error(class: ErrorClass) -> CloudError {
    CloudError::new(class, "no luck")
}

fn launched() -> Value {
    json!({"status": {"phase": "Provisioning", "providerStatus": {"launch": {"attempt": 1}}}})
}

fn linked() -> Value {
    let node = json!({"kind": "Node", "name": "n", "uid": "uid-n"});
    all(&[recorded(), json!({"status": {"nodeRef": node}})])
}

#[test]
fn what_was_prepared_is_stored_with_the_phase_in_one_write() {
    let (report, status) = of(&json!({}), &Outcome::Prepared(launch(1)));
    assert_eq!(
        (&status["phase"], &status["providerStatus"]),
        (&json!("Provisioning"), &json!({"launch": {"attempt": 1}}))
    );
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceNotCreated");
    assert_eq!(condition(&status, "Ready"), "False/Creating");
    assert_eq!(condition(&status, "Drainable"), "True/-");
    assert_eq!((reasons(&report), report.result), (vec![], PassResult::Changed));
}

#[test]
fn the_happy_way_has_one_event_and_ends_in_silence() {
    let running = instance(InstanceState::Running);
    let created = of(&launched(), &Outcome::Created(Arc::clone(&running))).0;
    assert_eq!((reasons(&created), created.status), (vec!["Create"], None));
    let (provisioned, status) = of(&recorded(), &Outcome::Seen(Arc::clone(&running)));
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Provisioned"), "False/WaitingForNode".to_owned())
    );
    assert_eq!(status["addresses"], json!([{"type": "InternalIP", "address": "10.0.0.1"}]));
    assert_eq!(provisioned.retry, Some(Retry::Again(Duration::from_secs(20))));
    assert!(provisioned.events.is_empty());
    let ready = View { node: Some(node("True")), ..view(&linked()) };
    let (report, status) = told(ready, &object(&linked()), &Outcome::Seen(running));
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Running"), "True/-".to_owned())
    );
    assert_eq!((report.retry, report.events.len()), (None, 0));
}

#[test]
fn a_node_that_is_about_to_be_linked_saves_a_write() {
    let fresh = all(&[
        recorded(),
        json!({"status": {"phase": "Provisioning", "lastUpdated": "2026-06-01T12:00:59Z"}}),
    ]);
    let stale = all(&[fresh.clone(), json!({"status": {"lastUpdated": "2026-06-01T12:00:01Z"}})]);
    let seen = Outcome::Seen(instance(InstanceState::Running));
    let told =
        |patch: &Value, node| super::report(&snapshot(View { node, ..view(patch) }), &seen, now());
    assert_eq!(told(&fresh, Some(node("True"))).status, None);
    assert_eq!(told(&fresh, None).status, None, "it runs already, so a node will come");
    assert_eq!(told(&fresh, None).retry, Some(Retry::Again(Duration::from_secs(5))));
    assert!(told(&stale, Some(node("True"))).status.is_some(), "whoever should link it does not");
    let provisioned = all(&[fresh, json!({"status": {"phase": "Provisioned"}})]);
    assert!(told(&provisioned, None).status.is_some(), "this was said before, and is to be right");
}

#[test]
fn how_an_instance_and_its_node_are_is_in_ready() {
    let cases = [
        (InstanceState::Pending, None, "False/InstancePending", true),
        (InstanceState::Pending, Some("True"), "True/-", true),
        (InstanceState::Running, Some("True"), "True/-", false),
        (InstanceState::Running, Some("False"), "False/NodeNotReady", true),
        (InstanceState::Running, Some("Unknown"), "False/NodeNotReady", true),
        (InstanceState::Running, None, "False/NodeMissing", true),
        (InstanceState::Stopped, Some("True"), "False/InstanceStopped", true),
        (InstanceState::Terminating, Some("True"), "False/InstanceTerminating", true),
    ];
    for (state, ready, expected, again) in cases {
        let view = View { node: ready.map(node), ..view(&linked()) };
        let (report, status) = told(view, &object(&linked()), &Outcome::Seen(instance(state)));
        assert_eq!(condition(&status, "Ready"), expected, "{state:?} {ready:?}");
        assert_eq!(status["phase"], "Running");
        assert_eq!(condition(&status, "InstanceExists"), "True/-");
        assert_eq!(report.retry.is_some(), again, "{state:?} {ready:?}");
    }
    let stopped = of(&linked(), &Outcome::Seen(instance(InstanceState::Stopped))).1;
    assert!(message(&stopped, "Ready").ends_with("somebody wanted it"));
}

#[test]
fn what_the_cloud_refuses_is_said_and_tried_again() {
    for (class, reason) in [
        (ErrorClass::CapacityExhausted, "CapacityExhausted"),
        (ErrorClass::Throttled, "Throttled"),
        (ErrorClass::Unauthorised, "Unauthorised"),
        (ErrorClass::Unavailable, "Unavailable"),
        (ErrorClass::NotFound, "NotFound"),
        (ErrorClass::Unknown, "Unexpected"),
    ] {
        let (report, status) = of(&launched(), &Outcome::NotCreated(error(class)));
        assert_eq!(status["phase"], "Provisioning", "{class:?}");
        assert_eq!(condition(&status, "Ready"), format!("False/{reason}"));
        assert_eq!((reasons(&report), report.retry), (vec!["FailedCreate"], Some(Retry::Backoff)));
        assert_eq!(report.result, PassResult::Failed);
    }
    let why = failure(Category::CapacityExhausted);
    let wait = Duration::from_secs(7);
    let (report, status) = of(&json!({}), &Outcome::Paused { wait, why });
    assert_eq!(
        (condition(&status, "Ready").as_str(), report.retry),
        ("False/CapacityExhausted", Some(Retry::Again(wait)))
    );
}

#[test]
fn what_can_never_work_fails_in_both_places_where_people_look() {
    let (report, status) =
        of(&launched(), &Outcome::NotCreated(error(ErrorClass::InvalidConfiguration)));
    assert_eq!(status["phase"], "Failed");
    for name in ["errorReason", "failureReason"] {
        assert_eq!(status[name], "InvalidConfiguration");
    }
    for name in ["errorMessage", "failureMessage"] {
        assert_eq!(status[name], "no luck");
    }
    assert_eq!((reasons(&report), report.retry), (vec!["Failed"], None));
    assert_eq!(condition(&status, "InstanceExists"), "-/-", "an attempt is stored: nobody knows");

    let mut stock = view(&launched());
    stock.rules.failure_fields = FailureFields::Dropped;
    let fatal = Outcome::GivenUp(Fatal::InvalidConfiguration("no".to_owned()));
    let status = told(stock, &object(&launched()), &fatal).1;
    assert_eq!((status.get("failureReason"), &status["errorMessage"]), (None, &json!("no")));

    let unclear = CloudError { effect: Effect::Unclear, ..error(ErrorClass::InvalidConfiguration) };
    let status = of(&launched(), &Outcome::NotCreated(unclear)).1;
    assert_eq!(status["phase"], "Provisioning", "something may have come of it");
}

#[test]
fn that_nothing_was_created_is_said_only_where_it_is_known() {
    let none = conditions(&[("InstanceExists", "False", "InstanceNotCreated")]);
    let after = |patch: &Value, class, effect| {
        let outcome = Outcome::NotCreated(CloudError { effect, ..error(class) });
        condition(&of(patch, &outcome).1, "InstanceExists")
    };
    let asked = all(&[launched(), none]);
    for class in [ErrorClass::InvalidConfiguration, ErrorClass::Throttled] {
        assert_eq!(after(&json!({}), class, Effect::None), "False/InstanceNotCreated");
        assert_eq!(after(&launched(), class, Effect::None), "-/-", "an answer may have been lost");
        let refused = after(&launched(), class, Effect::NoneForThisAttempt);
        assert_eq!(refused, "False/InstanceNotCreated");
        assert_eq!(after(&asked, class, Effect::Unclear), "Unknown/ErrorCheckingProvider");
        let lost = conditions(&[("InstanceExists", "Unknown", "ErrorCheckingProvider")]);
        let lost = after(&all(&[launched(), lost]), class, Effect::None);
        assert_eq!(lost, "Unknown/ErrorCheckingProvider", "a later refusal does not undo it");
    }
    let why = failure(Category::Throttled);
    let paused = Outcome::Paused { wait: Duration::from_secs(7), why };
    assert_eq!(condition(&of(&launched(), &paused).1, "InstanceExists"), "-/-");
}

#[test]
fn fields_that_may_not_be_served_are_not_worth_a_write_of_their_own() {
    let failed = json!({"status": {"phase": "Failed", "errorReason": "InvalidConfiguration", "errorMessage": "no"}});
    let settled =
        all(&[failed, conditions(&[("Drainable", "True", ""), ("Terminable", "True", "")])]);
    let patch = |patch: &Value, outcome: &Outcome, fields| {
        let mut view = view(patch);
        view.rules.failure_fields = fields;
        super::report(&snapshot(view), outcome, now()).status
    };
    let left = Outcome::Left(Leave::Failed);
    assert_eq!(patch(&settled, &left, FailureFields::Unknown), None);
    assert_eq!(patch(&settled, &left, FailureFields::Dropped), None);
    let served = patch(&settled, &left, FailureFields::Served).unwrap();
    assert_eq!(served["failureMessage"], "no");
    // A write that is needed anyway finds out.
    let fatal = Outcome::GivenUp(Fatal::InvalidConfiguration("no".to_owned()));
    let first = patch(&launched(), &fatal, FailureFields::Unknown).unwrap();
    assert_eq!((&first["phase"], &first["failureMessage"]), (&json!("Failed"), &json!("no")));
}

#[test]
fn an_instance_that_vanished_leaves_no_state_behind() {
    let stored = json!({"status": {"providerStatus": {"instanceState": "running"}}});
    let outcome = Outcome::GivenUp(Fatal::Vanished(" p:///i-1".to_owned()));
    let (report, status) = of(&all(&[linked(), stored]), &outcome);
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceMissing");
    assert_eq!(status["errorMessage"], "can't find created instance p:///i-1");
    assert_eq!(status.get("errorReason"), None);
    assert_eq!(
        status["providerStatus"],
        json!({"instanceState": "Unknown", "launch": {"attempt": 1}})
    );
    assert_eq!(reasons(&report), ["Failed"]);
    let failed = json!({"status": status});
    assert_eq!(of(&failed, &Outcome::Left(Leave::Failed)).0.status, None, "and it stays like this");
}

#[test]
fn that_nobody_could_be_asked_is_not_absence() {
    let unknown = Refusal::CouldNotLook(failure(Category::Unavailable));
    let (report, status) = of(&linked(), &Outcome::Refused(unknown));
    assert_eq!(condition(&status, "InstanceExists"), "Unknown/ErrorCheckingProvider");
    assert_eq!(condition(&status, "Ready"), "False/Unavailable");
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioned"), Some(Retry::Backoff)));
    assert_eq!(reasons(&report), ["ReconcileError"]);
    let (report, status) = of(&json!({}), &Outcome::Refused(Refusal::BadSpec(SpecError::Missing)));
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceNotCreated");
    assert_eq!(reasons(&report), ["FailedValidate"]);
    assert_eq!(status.get("phase"), None);
    // An edit brings it back; that its time is over does not, so somebody has to look.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(19 * 60))));
}

#[test]
fn a_creation_that_takes_too_long_says_so_once_with_the_last_error_and_goes_on() {
    let old = json!({"metadata": {"creationTimestamp": "2026-06-01T11:00:00Z"}});
    let late = all(&[launched(), old.clone()]);
    let (report, status) = of(&late, &Outcome::NotCreated(error(ErrorClass::CapacityExhausted)));
    assert_eq!(condition(&status, "Ready"), "False/CreationTimedOut");
    assert_eq!(message(&status, "Ready"), "not running after 20m, and still trying: no luck");
    assert_eq!(reasons(&report), ["CreationTimedOut", "FailedCreate"]);
    assert_eq!((&status["phase"], report.retry), (&json!("Provisioning"), Some(Retry::Backoff)));

    let told = all(&[late, json!({"status": status})]);
    let again = of(&told, &Outcome::NotCreated(error(ErrorClass::CapacityExhausted))).0;
    assert_eq!((reasons(&again), again.status), (vec!["FailedCreate"], None));
    let (_, status) = of(&told, &Outcome::Prepared(launch(2)));
    assert!(message(&status, "Ready").ends_with("no luck"), "another attempt is no news");
    let refused = Outcome::Refused(Refusal::NoSecret(ObjectKey::new("ns", "s")));
    let (_, status) = of(&old, &refused);
    assert_eq!(
        condition(&status, "Ready"),
        "False/CreationTimedOut",
        "also before the cloud is called"
    );
    let joining =
        of(&all(&[recorded(), old.clone()]), &Outcome::Seen(instance(InstanceState::Running))).1;
    assert_eq!(condition(&joining, "Ready"), "False/CreationTimedOut");
    let ready = View { node: Some(node("True")), ..view(&all(&[linked(), old.clone()])) };
    let seen = Outcome::Seen(instance(InstanceState::Running));
    let status = super::super::report(&snapshot(ready), &seen, now()).status.unwrap();
    assert_eq!(condition(&status, "Ready"), "True/-");
}

#[test]
fn the_way_down_is_told_step_by_step() {
    let failed = json!({"status": {"phase": "Failed", "errorReason": "X", "errorMessage": "x", "failureReason": "X"}});
    let going = all(&[recorded(), failed, deleting()]);
    let deletion = Outcome::Terminating(Deletion::UnderWay("it takes its time".to_owned()));
    let (report, status) = of(&going, &deletion);
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Deleting"), "False/Deleting".to_owned())
    );
    assert_eq!(message(&status, "Ready"), "it takes its time");
    assert_eq!(
        (status.get("errorReason"), status.get("errorMessage"), status.get("failureReason")),
        (None, None, None)
    );
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));

    let (report, status) = of(&going, &Outcome::Terminating(Deletion::Gone));
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceGone");
    assert_eq!((reasons(&report), report.retry), (vec!["Delete"], None));
    let (report, status) = of(&going, &Outcome::NotTerminated(error(ErrorClass::Unauthorised)));
    assert_eq!(condition(&status, "Ready"), "False/DeletionFailed");
    assert_eq!((reasons(&report), report.retry), (vec!["FailedDelete"], Some(Retry::Backoff)));
    let no_secret = Outcome::Refused(Refusal::NoSecret(ObjectKey::new("ns", "s")));
    let (_, status) = of(&going, &no_secret);
    assert_eq!(message(&status, "Ready"), "secret ns/s does not exist");
    let hook = json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "h", "owner": "o"}]}}});
    let (report, status) = of(&all(&[going, hook]), &Outcome::AwaitingHooks);
    assert_eq!(condition(&status, "Terminable"), "False/HookPresent");
    assert_eq!(condition(&status, "Ready"), "False/WaitingForHooks");
    assert_eq!(report.retry, None);
}

#[test]
fn conditions_of_others_and_machines_of_others_are_left_alone() {
    let theirs = conditions(&[("Theirs", "True", "Because")]);
    let (_, status) = of(&theirs, &Outcome::Prepared(launch(1)));
    assert_eq!(condition(&status, "Theirs"), "True/Because");

    let failed = json!({"status": {"phase": "Failed", "errorMessage": "x", "authoritativeAPI": "ClusterAPI"}});
    let mut view = view(&failed);
    view.rules.obey_migration = true;
    let (_, status) = told(view, &object(&failed), &Outcome::Left(Leave::Elsewhere));
    assert_eq!(condition(&status, "Paused"), "True/AuthoritativeAPINotMachineAPI");
    assert_eq!(
        (&status["errorMessage"], condition(&status, "Ready")),
        (&json!("x"), "-/-".to_owned())
    );
}

#[test]
fn who_is_in_charge_is_taken_from_the_spec() {
    let mut view = view(&json!({"spec": {"authoritativeAPI": "ClusterAPI"}}));
    view.rules.obey_migration = true;
    let report = super::report(&snapshot(view), &Outcome::AuthoritySettled, now());
    let status = report.status.unwrap();
    assert_eq!(status["authoritativeAPI"], "ClusterAPI");
    assert_eq!(status.get("conditions"), None);
}

#[test]
fn looking_waiting_and_dry_runs_say_nothing() {
    for outcome in
        [Outcome::Looking, Outcome::Waiting(Duration::from_secs(1)), Outcome::DryRun, Outcome::Done]
    {
        let (report, _) = of(&linked(), &outcome);
        assert_eq!((report.status, report.events.len()), (None, 0), "{outcome:?}");
    }
    let conflict = of(&linked(), &Outcome::Failed(failure(Category::Conflict))).0;
    assert_eq!((conflict.events.len(), conflict.status), (0, None));
}

#[test]
fn what_was_not_repaired_is_said_and_the_instance_is_shown_all_the_same() {
    let drifted =
        Instance { drift: Some("tag".to_owned()), ..(*instance(InstanceState::Running)).clone() };
    let view = View {
        sighting: Sighting::Present(Arc::new(drifted)),
        node: Some(node("True")),
        ..view(&linked())
    };
    let (report, status) =
        told(view, &object(&linked()), &Outcome::NotRepaired(error(ErrorClass::Throttled)));
    assert_eq!(
        (reasons(&report), condition(&status, "Ready")),
        (vec!["FailedUpdate"], "True/-".to_owned())
    );
    assert_eq!(report.retry, Some(Retry::Backoff));
}

#[test]
fn whichever_limit_of_a_creation_is_over_first_brings_it_back() {
    let limit =
        |text: &str| json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": text}}});
    let alarm = |patch: &Value, age: u64| {
        let created = view(patch).machine.created;
        let then = created + Duration::from_secs(age);
        super::report(&snapshot(view(patch)), &Outcome::Done, then).retry
    };
    let in_seconds = |seconds| Some(Retry::Again(Duration::from_secs(seconds)));
    let usual = view(&json!({})).rules.timings.creation.as_secs();
    assert_eq!(alarm(&json!({}), 60), in_seconds(usual - 60));
    assert_eq!(alarm(&limit("5m"), 60), in_seconds(240));
    assert_eq!(alarm(&limit("48h"), 60), in_seconds(usual - 60));
    assert_eq!(alarm(&limit("48h"), usual + 60), in_seconds(48 * 3600 - usual - 60));
    assert_eq!(alarm(&limit("5m"), 400), in_seconds(usual - 400));
    assert_eq!(
        alarm(&all(&[limit("5m"), linked(), json!({"status": {"phase": "Running"}})]), 60),
        None
    );
    // That it is late by the usual measure is said, however long it may take by its own.
    let waits = all(&[launched(), limit("48h")]);
    let then = view(&waits).machine.created + Duration::from_secs(usual + 60);
    let outcome = Outcome::NotCreated(error(ErrorClass::CapacityExhausted));
    let status = super::report(&snapshot(view(&waits)), &outcome, then).status.unwrap();
    assert_eq!(condition(&status, "Ready"), "False/CreationTimedOut");
}

#[test]
fn a_duration_that_is_none_is_named() {
    let odd = json!({"metadata": {"annotations": {"machinist.dev/creation-timeout": "soon"}}});
    let report = of(&odd, &Outcome::Prepared(launch(1))).0;
    assert_eq!(reasons(&report), ["FailedValidate"]);
    let undecodable = super::super::snapshot::Snapshot {
        meta: view(&odd).machine.meta.clone(),
        content: Content::Undecodable("odd".to_owned()),
    };
    let report = super::report(&undecodable, &Outcome::Done, now());
    assert_eq!((reasons(&report), report.retry), (vec!["ReconcileError"], Some(Retry::OnChange)));
}

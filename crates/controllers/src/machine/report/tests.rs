//! What is told about a machine after every kind of pass, and that it is told once.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::report::PassResult;
use machinist_domain::retry::Category;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, Instance, Sighting};
use machinist_provider::spec::SpecError;
use serde_json::{Value, json};

use super::super::decide::decide;
use super::super::error::{Fatal, Refusal};
use super::super::plan::Plan;
use super::super::samples::{
    all, conditions, deleting, failure, instance, launch, merge, node, now, object, recorded,
    snapshot, view, view_of,
};
use super::*;
use crate::drain;
use crate::served::Field;

mod lateness;
mod trouble;

/// Reports, and shows that a second report of the same has nothing to add.
fn told(view: View, object: &Value, outcome: &Outcome) -> (Report, Value) {
    let (node, rules, sighting) = (view.node.clone(), view.rules, view.sighting.clone());
    let unrepaired = view.unrepaired.clone();
    let report = report(&snapshot(view), outcome, now());
    let mut after = object.clone();
    if let Some(status) = &report.status {
        assert!(status.get("lastUpdated").is_some(), "{status}");
        merge(&mut after["status"], status);
        let again = View { sighting, node, unrepaired, rules, ..view_of(&after) };
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
    let (report, status) =
        told(ready.clone(), &object(&linked()), &Outcome::Seen(Arc::clone(&running)));
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Running"), "True/-".to_owned())
    );
    assert_eq!((report.retry, report.events.len()), (None, 0));
    let unsure = Arc::new(Instance { uncertain: true, ..Arc::unwrap_or_clone(running) });
    let again = told(ready, &object(&linked()), &Outcome::Seen(unsure)).0.retry;
    assert_eq!(again, Some(Retry::Again(Duration::from_secs(20))), "the resync is far away");
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
    assert_eq!(patch(&settled, &left, Field::Unknown), None);
    assert_eq!(patch(&settled, &left, Field::Dropped), None);
    let served = patch(&settled, &left, Field::Served).unwrap();
    assert_eq!(served["failureMessage"], "no");
    // A write that is needed anyway finds out.
    let fatal = Outcome::GivenUp(Fatal::InvalidConfiguration("no".to_owned()));
    let first = patch(&launched(), &fatal, Field::Unknown).unwrap();
    assert_eq!((&first["phase"], &first["failureMessage"]), (&json!("Failed"), &json!("no")));
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
fn a_machine_that_is_deleted_before_its_first_pass_needs_no_cloud() {
    let hook = json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "h", "owner": "o"}]}}});
    for going in [deleting(), all(&[deleting(), hook])] {
        let Plan::Drain(verdict) = decide(&snapshot(view(&going)), now()) else {
            panic!("it is not drained");
        };
        let (_, status) = of(&going, &Outcome::Drained(verdict, drain::Outcome::default()));
        assert_eq!(condition(&status, "Drained"), "True/Skipped");
        assert_eq!(message(&status, "Ready"), "nothing is drained");
        let unhooked = json!({"spec": {"lifecycleHooks": null}});
        let next = view(&all(&[going, json!({ "status": status }), unhooked]));
        assert_eq!(decide(&snapshot(next), now()), Plan::NothingToRemove);
    }
}

#[test]
fn what_is_waited_for_on_the_way_down_is_said() {
    let hook = json!({"spec": {"lifecycleHooks": {"preDrain": [{"name": "h", "owner": "o"}]}}});
    let hooked = all(&[linked(), deleting(), hook]);
    let Plan::Drain(verdict) = decide(&snapshot(view(&hooked)), now()) else {
        panic!("it is not drained");
    };
    let (_, status) = of(&hooked, &Outcome::Drained(verdict, drain::Outcome::default()));
    assert_eq!(message(&status, "Ready"), "waits for preDrain hooks");
    let waiting = Outcome::Waiting(Duration::from_secs(1));
    let (report, status) = of(&all(&[launched(), deleting()]), &waiting);
    assert!(message(&status, "Ready").contains("may still appear"), "{status}");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(1))));
    let gone = conditions(&[("InstanceExists", "False", "InstanceGone")]);
    let (report, _) = of(&all(&[launched(), deleting(), gone]), &waiting);
    assert_eq!(report.status, None, "only its node is waited for");
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
fn a_machine_of_which_nobody_knows_whose_it_is_is_kept_off_and_says_so() {
    let odd = json!({"status": {"phase": "Running", "authoritativeAPI": "Somebody"}});
    let mut view = view(&odd);
    view.rules.obey_migration = true;
    let (report, status) = told(view, &object(&odd), &Outcome::Left(Leave::UnknownAuthority));
    assert_eq!(condition(&status, "Paused"), "True/AuthoritativeAPINotMachineAPI");
    assert!(message(&status, "Paused").contains("authoritativeAPI"), "{status}");
    assert_eq!(
        (condition(&status, "Ready"), &status["phase"]),
        ("-/-".to_owned(), &json!("Running"))
    );
    assert_eq!(reasons(&report), ["FailedValidate"]);
}

#[test]
fn who_is_in_charge_is_taken_from_the_spec() {
    let mut view = view(&json!({"spec": {"authoritativeAPI": "ClusterAPI"}}));
    view.rules.obey_migration = true;
    let report = super::report(&snapshot(view), &Outcome::AuthoritySettled, now());
    let status = report.status.unwrap();
    // Nothing else: where the schema has no such field, the object does not change by it.
    assert_eq!(status, json!({"authoritativeAPI": "ClusterAPI"}));
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

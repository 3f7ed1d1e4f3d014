use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::report::ReconcileResult;
use machinist_domain::retry::Category;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState,
};
use machinist_provider::spec::SpecError;
use serde_json::{Value, json};

use super::super::decide::decide;
use super::super::error::{Fatal, Refusal};
use super::super::plan::Reason;
use super::super::samples::{
    all, conditions, deleting, failure, instance, launch, merge, node, now, object, recorded,
    snapshot, view, view_of,
};
use super::super::snapshot::{Call, Pause};
use super::*;
use crate::drain;
use crate::served::Field;

mod lateness;
mod trouble;

const CLASSES: [ErrorClass; 7] = [
    ErrorClass::InvalidConfiguration,
    ErrorClass::NotFound,
    ErrorClass::CapacityExhausted,
    ErrorClass::Throttled,
    ErrorClass::Unauthorised,
    ErrorClass::Unavailable,
    ErrorClass::Unexpected,
];

type Step = (Plan, Outcome);

fn done(plan: Plan) -> Step {
    (plan, Outcome::Done)
}

fn tried(outcome: Outcome) -> Step {
    (Plan::Create { attempt: 1 }, outcome)
}

/// The report, with the status that `act` writes for a launch.
fn reported(view: View, (plan, outcome): &Step, now: Timestamp) -> Report {
    let launch = matches!(outcome, Outcome::Prepared(_));
    let stored = launch.then(|| status(&view, plan, outcome, now)).flatten();
    let report = report(&snapshot(view), plan, outcome, now);
    Report { status: stored.or(report.status), ..report }
}

/// Reports, and checks that a second report changes nothing.
fn report_and_status(view: View, object: &Value, step: &Step) -> (Report, Value) {
    let (node, rules, observed) = (view.node.clone(), view.rules, view.observed.clone());
    let unrepaired = view.unrepaired.clone();
    let report = reported(view, step, now());
    let mut after = object.clone();
    if let Some(status) = &report.status {
        assert!(status.get("lastUpdated").is_some(), "{status}");
        merge(&mut after["status"], status);
        let again = View { observed, node, unrepaired, rules, ..view_of(&after) };
        let again = reported(again, step, now() + Duration::from_secs(100));
        assert_eq!(again.status, None, "reported twice");
    }
    (report, after["status"].take())
}

fn of(patch: &Value, step: &Step) -> (Report, Value) {
    report_and_status(view(patch), &object(patch), step)
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
fn stores_the_launch_and_the_phase_in_one_write() {
    let (report, status) = of(&json!({}), &tried(Outcome::Prepared(launch(1))));
    assert_eq!(
        (&status["phase"], &status["providerStatus"]),
        (&json!("Provisioning"), &json!({"launch": {"attempt": 1}}))
    );
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceNotCreated");
    assert_eq!(condition(&status, "Ready"), "False/Creating");
    assert_eq!(condition(&status, "Drainable"), "True/-");
    assert_eq!((reasons(&report), report.result), (vec![], ReconcileResult::Changed));
}

#[test]
fn a_normal_creation_has_one_event() {
    let running = instance(InstanceState::Running);
    let created = of(&launched(), &tried(Outcome::Created(Arc::clone(&running)))).0;
    assert_eq!((reasons(&created), created.status), (vec!["Create"], None));
    let (provisioned, status) = of(&recorded(), &done(Plan::UpdateStatus(Arc::clone(&running))));
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Provisioned"), "False/WaitingForNode".to_owned())
    );
    assert_eq!(status["addresses"], json!([{"type": "InternalIP", "address": "10.0.0.1"}]));
    assert_eq!(provisioned.retry, Some(Retry::Again(Duration::from_secs(20))));
    assert!(provisioned.events.is_empty());
    let ready = View { node: Some(node("True")), ..view(&linked()) };
    let (report, status) = report_and_status(
        ready.clone(),
        &object(&linked()),
        &done(Plan::UpdateStatus(Arc::clone(&running))),
    );
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Running"), "True/-".to_owned())
    );
    assert_eq!((report.retry, report.events.len()), (None, 0));
    let unsure = Arc::new(Instance { uncertain: true, ..Arc::unwrap_or_clone(running) });
    let again =
        report_and_status(ready, &object(&linked()), &done(Plan::UpdateStatus(unsure))).0.retry;
    assert_eq!(again, Some(Retry::Again(Duration::from_secs(20))), "it is polled");
}

#[test]
fn saves_a_write_if_a_node_is_about_to_be_linked() {
    let fresh = all(&[
        recorded(),
        json!({"status": {"phase": "Provisioning", "lastUpdated": "2026-06-01T12:00:59Z"}}),
    ]);
    let stale = all(&[fresh.clone(), json!({"status": {"lastUpdated": "2026-06-01T12:00:01Z"}})]);
    let seen = done(Plan::UpdateStatus(instance(InstanceState::Running)));
    let report_for = |patch: &Value, node| reported(View { node, ..view(patch) }, &seen, now());
    assert_eq!(report_for(&fresh, Some(node("True"))).status, None);
    assert_eq!(report_for(&fresh, None).status, None, "it runs already");
    assert_eq!(report_for(&fresh, None).retry, Some(Retry::Again(Duration::from_secs(5))));
    assert!(report_for(&stale, Some(node("True"))).status.is_some(), "it is not linked in time");
    let provisioned = all(&[fresh, json!({"status": {"phase": "Provisioned"}})]);
    assert!(report_for(&provisioned, None).status.is_some(), "the status is wrong otherwise");
}

#[test]
fn ready_shows_the_state_of_instance_and_node() {
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
        let (report, status) =
            report_and_status(view, &object(&linked()), &done(Plan::UpdateStatus(instance(state))));
        assert_eq!(condition(&status, "Ready"), expected, "{state:?} {ready:?}");
        assert_eq!(status["phase"], "Running");
        assert_eq!(condition(&status, "InstanceExists"), "True/-");
        assert_eq!(report.retry.is_some(), again, "{state:?} {ready:?}");
    }
    let stopped = of(&linked(), &done(Plan::UpdateStatus(instance(InstanceState::Stopped)))).1;
    assert!(message(&stopped, "Ready").contains("(user request)"));
}

#[test]
fn does_not_write_only_for_fields_that_may_be_dropped() {
    let failed = json!({"status": {"phase": "Failed", "errorReason": "InvalidConfiguration", "errorMessage": "no"}});
    let settled =
        all(&[failed, conditions(&[("Drainable", "True", ""), ("Terminable", "True", "")])]);
    let patch = |patch: &Value, step: &Step, fields| {
        let mut view = view(patch);
        view.rules.failure_fields = fields;
        reported(view, step, now()).status
    };
    let left = done(Plan::NoOp(Reason::Failed));
    assert_eq!(patch(&settled, &left, Field::Unknown), None);
    assert_eq!(patch(&settled, &left, Field::Dropped), None);
    let served = patch(&settled, &left, Field::Served).unwrap();
    assert_eq!(served["failureMessage"], "no");
    let fatal = done(Plan::Fail(Fatal::InvalidConfiguration("no".to_owned())));
    let first = patch(&launched(), &fatal, Field::Unknown).unwrap();
    let text = format!("No{}", messages::CORRECT_AND_DELETE);
    assert_eq!((&first["phase"], &first["failureMessage"]), (&json!("Failed"), &json!(text)));
}

#[test]
fn reports_every_step_of_a_deletion() {
    let failed = json!({"status": {"phase": "Failed", "errorReason": "X", "errorMessage": "x", "failureReason": "X"}});
    let going = all(&[recorded(), failed, deleting()]);
    let deletion = tried(Outcome::Terminating(Deletion::UnderWay("it takes its time".to_owned())));
    let (report, status) = of(&going, &deletion);
    assert_eq!(
        (&status["phase"], condition(&status, "Ready")),
        (&json!("Deleting"), "False/Deleting".to_owned())
    );
    assert_eq!(message(&status, "Ready"), "It takes its time");
    assert_eq!(
        (status.get("errorReason"), status.get("errorMessage"), status.get("failureReason")),
        (None, None, None)
    );
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(20))));

    let (report, status) = of(&going, &tried(Outcome::Terminating(Deletion::Gone)));
    assert_eq!(condition(&status, "InstanceExists"), "False/InstanceGone");
    assert_eq!((reasons(&report), report.retry), (vec!["Delete"], None));
    let (report, status) =
        of(&going, &tried(Outcome::CallFailed(Call::Delete, error(ErrorClass::Unauthorised))));
    assert_eq!(condition(&status, "Ready"), "False/DeletionFailed");
    assert_eq!((reasons(&report), report.retry), (vec!["FailedDelete"], Some(Retry::Backoff)));
    let no_secret = done(Plan::Refuse(Refusal::NoSecret(ObjectKey::new("ns", "s"))));
    let (_, status) = of(&going, &no_secret);
    assert_eq!(
        message(&status, "Ready"),
        "Secret ns/s does not exist; create it, or correct its name in the provider spec"
    );
    let hook = json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "h", "owner": "o"}]}}});
    let (report, status) = of(&all(&[going, hook]), &done(Plan::AwaitHooks));
    assert_eq!(condition(&status, "Terminable"), "False/HookPresent");
    assert_eq!(condition(&status, "Ready"), "False/WaitingForHooks");
    assert_eq!(report.retry, None);
}

#[test]
fn deletes_a_machine_without_launch_without_the_cloud() {
    let hook = json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "h", "owner": "o"}]}}});
    for going in [deleting(), all(&[deleting(), hook])] {
        let Plan::Drain(plan) = decide(&snapshot(view(&going)), now()) else {
            panic!("it is not drained");
        };
        let (_, status) =
            of(&going, &(Plan::Drain(plan), Outcome::Drained(drain::Outcome::default())));
        assert_eq!(condition(&status, "Drained"), "True/Skipped");
        assert_eq!(message(&status, "Ready"), "The drain is skipped; see condition Drained");
        let unhooked = json!({"spec": {"lifecycleHooks": null}});
        let next = view(&all(&[going, json!({ "status": status }), unhooked]));
        assert_eq!(decide(&snapshot(next), now()), Plan::NothingToRemove);
    }
}

#[test]
fn reports_what_a_deletion_waits_for() {
    let hook = json!({"spec": {"lifecycleHooks": {"preDrain": [{"name": "h", "owner": "o"}]}}});
    let hooked = all(&[linked(), deleting(), hook]);
    let Plan::Drain(plan) = decide(&snapshot(view(&hooked)), now()) else {
        panic!("it is not drained");
    };
    let (_, status) =
        of(&hooked, &(Plan::Drain(plan), Outcome::Drained(drain::Outcome::default())));
    assert_eq!(message(&status, "Ready"), "Waiting for preDrain hooks");
    let waiting = done(Plan::Wait(Duration::from_secs(1)));
    let (report, status) = of(&all(&[launched(), deleting()]), &waiting);
    assert!(message(&status, "Ready").contains("was not answered"), "{status}");
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(1))));
    let gone = conditions(&[("InstanceExists", "False", "InstanceGone")]);
    let (report, _) = of(&all(&[launched(), deleting(), gone]), &waiting);
    assert_eq!(report.status, None, "only its Node is waited for");
}

#[test]
fn leaves_conditions_and_machines_of_others_alone() {
    let theirs = conditions(&[("Theirs", "True", "Because")]);
    let (_, status) = of(&theirs, &tried(Outcome::Prepared(launch(1))));
    assert_eq!(condition(&status, "Theirs"), "True/Because");

    let failed = json!({"status": {"phase": "Failed", "errorMessage": "x", "authoritativeAPI": "ClusterAPI"}});
    let mut view = view(&failed);
    view.rules.obey_migration = true;
    let (_, status) =
        report_and_status(view, &object(&failed), &done(Plan::NoOp(Reason::ManagedElsewhere)));
    assert_eq!(condition(&status, "Paused"), "True/AuthoritativeAPINotMachineAPI");
    assert_eq!(
        (&status["errorMessage"], condition(&status, "Ready")),
        (&json!("x"), "-/-".to_owned())
    );
}

#[test]
fn pauses_a_machine_with_an_unknown_authority() {
    let odd = json!({"status": {"phase": "Running", "authoritativeAPI": "Other"}});
    let mut view = view(&odd);
    view.rules.obey_migration = true;
    let (report, status) =
        report_and_status(view, &object(&odd), &done(Plan::NoOp(Reason::UnknownAuthority)));
    assert_eq!(condition(&status, "Paused"), "True/AuthoritativeAPINotMachineAPI");
    assert!(message(&status, "Paused").contains("authoritativeAPI"), "{status}");
    assert_eq!(
        (condition(&status, "Ready"), &status["phase"]),
        ("-/-".to_owned(), &json!("Running"))
    );
    assert_eq!(reasons(&report), ["FailedValidate"]);
}

#[test]
fn waiting_and_dry_runs_report_nothing() {
    for step in [
        done(Plan::AwaitCloud),
        done(Plan::Wait(Duration::from_secs(1))),
        tried(Outcome::DryRun),
        done(Plan::AddFinalizer),
    ] {
        let (report, _) = of(&linked(), &step);
        assert_eq!((report.status, report.events.len()), (None, 0), "{step:?}");
    }
    let conflict = of(&linked(), &tried(Outcome::Failed(failure(Category::Conflict)))).0;
    assert_eq!((conflict.events.len(), conflict.status), (0, None));
}

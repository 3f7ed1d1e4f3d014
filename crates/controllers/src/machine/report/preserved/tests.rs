use std::time::Duration;

use machinist_domain::report::Report;
use machinist_domain::retry::{Category, Retry};
use serde_json::{Value, json};

use super::super::super::decide::decide;
use super::super::super::messages;
use super::super::super::plan::{Outcome, Plan, Reason};
use super::super::super::samples::{all, failure, now, object, snapshot, view_of};
use super::super::super::unmarked::Unmarked;
use super::super::report;

const LATER: &str = "2026-06-01T12:02:00Z";
const OVER: &str = "2026-06-01T12:01:00Z";

fn failed(annotations: &Value, stored: Option<&Value>) -> Value {
    let error = "Instance i-1 was terminated";
    let ready = json!({"type": "Ready", "status": "False", "reason": "Failed"});
    let conditions: Vec<_> = [Some(&ready), stored].into_iter().flatten().collect();
    object(&all(&[json!({
        "metadata": {"annotations": annotations},
        "status": {"phase": "Failed", "errorMessage": error, "conditions": conditions},
    })]))
}

fn reported(object: &Value) -> Report {
    let plan = Plan::NoOp(Reason::Failed);
    report(&snapshot(view_of(object)), &plan, &Outcome::Done, now())
}

fn condition(report: &Report) -> Option<Value> {
    let list = report.status.as_ref()?["conditions"].as_array()?;
    list.iter().find(|one| one["type"] == "Preserved").cloned()
}

fn annotations(preserve: &str, until: Option<&str>) -> Value {
    json!({"machinist.dev/preserve": preserve, "machinist.dev/preserved-until": until})
}

/// Status, reason and message, the Events, and the requeue in seconds.
fn outcome(
    preserve: &str,
    until: Option<&str>,
    stored: Option<&Value>,
) -> (String, Vec<&'static str>, u64) {
    let report = reported(&failed(&annotations(preserve, until), stored));
    let same = |it: &Value| {
        let names = ["status", "reason", "message"];
        stored.is_some_and(|stored| names.iter().all(|name| it[name] == stored[name]))
    };
    let changed = condition(&report).filter(|it| !same(it));
    let text = changed.map_or("unchanged".to_owned(), |it| {
        let word = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", word("status"), word("reason"), word("message"))
    });
    let reasons = report.events.iter().map(|event| event.reason.as_str()).collect();
    let wait = match report.retry {
        Some(Retry::Again(wait)) => wait.as_secs(),
        _ => 0,
    };
    (text, reasons, wait)
}

fn stored(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Preserved", "status": status, "reason": reason, "message": message})
}

#[test]
fn reports_the_end_and_wakes_up_for_it() {
    let kept = "Failed, and kept for debugging until 2026-06-01T12:02:00Z";
    let (text, events, wait) = outcome("when-failed", Some(LATER), None);
    assert_eq!(text, format!("True MachineFailed: {kept}"));
    assert_eq!((events, wait), (vec!["Preserved"], 60));
    // Its drain is over, and the text has more than the end.
    let drained = stored("True", "Succeeded", &format!("{kept}; The node is drained"));
    let (text, events, wait) = outcome("when-failed", Some(LATER), Some(&drained));
    assert_eq!((&*text, events, wait), ("unchanged", vec![], 60));
    let edited =
        stored("True", "Succeeded", "Failed, and kept for debugging until 2026-06-09T12:00:00Z");
    let (text, events, _) = outcome("now", Some(LATER), Some(&edited));
    assert_eq!((text, events), (format!("True MachineFailed: {kept}"), vec![]));
}

#[test]
fn reports_that_it_ended_once() {
    let before = stored("True", "Succeeded", "");
    let (text, events, wait) = outcome("now", Some(OVER), Some(&before));
    assert!(
        text.starts_with("False Expired: Was kept for debugging until 2026-06-01T12:01:00Z; to"),
        "{text}"
    );
    assert_eq!((events, wait), (vec!["PreservationEnded"], 0));
    let after = stored("False", "Expired", &text["False Expired: ".len()..]);
    let mut after = after;
    after["severity"] = json!("Info");
    assert_eq!(outcome("now", Some(OVER), Some(&after)), ("unchanged".to_owned(), vec![], 0));

    let report = reported(&failed(&annotations("false", None), Some(&before)));
    assert_eq!(condition(&report), None);
    assert!(report.status.unwrap()["conditions"].is_array(), "the condition is removed");
    assert_eq!(report.events[0].reason.as_str(), "PreservationEnded");
}

/// The condition of the beginning may never have been written.
#[test]
fn every_end_is_an_event_once_whatever_was_stored_before() {
    let kept = stored("True", "Requested", "");
    let expired = stored("False", "Expired", "");
    let invalid = stored("False", "InvalidValue", "");
    let removed = |until: &str, condition: Option<&Value>| {
        let withdrawn = failed(&annotations("false", Some(until)), condition);
        let snapshot = snapshot(view_of(&withdrawn));
        let plan = decide(&snapshot, now());
        assert_eq!(plan, Plan::EndPreservation);
        let ended = report(&snapshot, &plan, &Outcome::Done, now()).events.len();
        let refused = Outcome::Failed(failure(Category::Conflict));
        assert_eq!(report(&snapshot, &plan, &refused, now()).events, []);
        // The next reconcile sees the same condition.
        let after = reported(&failed(&annotations("false", None), condition)).events.len();
        (ended, after)
    };
    for until in [LATER, OVER] {
        assert_eq!(removed(until, None), (1, 0));
        assert_eq!(removed(until, Some(&invalid)), (1, 0));
        assert_eq!(removed(until, Some(&kept)), (0, 1));
        assert_eq!(removed(until, Some(&expired)), (0, 0), "it was over");
    }
    assert_eq!(removed("soon", None), (0, 0), "it never began");
    assert_eq!(outcome("now", Some(OVER), None).1, ["PreservationEnded"]);
}

#[test]
fn reports_a_value_that_is_not_known() {
    let (text, events, _) = outcome("yes", None, None);
    assert!(
        text.starts_with("False InvalidValue: Annotation machinist.dev/preserve must be"),
        "{text}"
    );
    assert_eq!(events, ["FailedValidate"]);
    // It ends nothing.
    let (text, events, wait) = outcome("yes", Some(LATER), None);
    assert!(text.starts_with("True MachineFailed: "), "{text}");
    assert_eq!((events, wait), (vec!["FailedValidate", "Preserved"], 60));
}

#[test]
fn wakes_up_when_a_node_counts_as_failed() {
    let mut machine = object(&json!({
        "metadata": {"annotations": annotations("when-failed", None)},
        "status": {"nodeRef": {"name": "n", "uid": "uid-n"}},
    }));
    machine["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove("machinist.dev/preserved-until");
    let mut view = view_of(&machine);
    let mut node = (*super::super::super::samples::node("False")).clone();
    node.readiness.since = Some(now() - Duration::from_secs(9 * 60));
    view.node = Some(node.into());
    assert_eq!(view.preservation_changes_in(now()), Some(Duration::from_millis(60_001)));
    let later = now() + Duration::from_secs(60);
    assert!(decide(&snapshot(view), later).to_string().starts_with("keep the Machine"));
}

#[test]
fn marks_that_are_refused_are_an_event_and_part_of_the_condition() {
    let kept = failed(&annotations("now", Some(LATER)), None);
    let plan = Plan::MarkNode { node: view_of(&kept).machine.meta.clone(), patch: json!({}) };
    let refused = |category| {
        let failure = failure(category);
        report(&snapshot(view_of(&kept)), &plan, &Outcome::Failed(failure), now())
    };
    let report = refused(Category::Unauthorised);
    assert_eq!(report.events[0].note, messages::node_not_marked("no luck"));
    assert_eq!((report.status, report.retry), (None, Some(Retry::Soon)), "the Machine goes on");
    assert_eq!(refused(Category::Unavailable).retry, Some(Retry::Backoff));
    // Until the next try.
    let mut view = view_of(&kept);
    let wait = Duration::from_secs(4);
    view.unmarked = Some(Unmarked { wait, why: "no luck".into() });
    let plan = Plan::NoOp(Reason::Failed);
    let report = super::super::report(&snapshot(view), &plan, &Outcome::Done, now());
    let text = condition(&report).unwrap()["message"].as_str().unwrap().to_owned();
    assert!(text.ends_with("until 2026-06-01T12:02:00Z; cannot mark its Node: no luck"), "{text}");
    assert_eq!(report.retry, Some(Retry::Again(wait)));
}

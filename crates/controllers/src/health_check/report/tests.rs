mod external;

use serde_json::{Value, json};

use super::super::decide::decide;
use super::super::samples::*;
use super::*;

fn reported(view: View) -> Report {
    let now = view.now;
    let snapshot = snapshot(view);
    let plan = decide(&snapshot);
    let outcome = match &plan {
        Plan::Assess(assessment) if assessment.remediations().next().is_some() => {
            let fates = assessment.remediations().map(|one| (one.meta.clone(), Fate::Deleted));
            Outcome::Executed(fates.collect())
        }
        _ => Outcome::Nothing,
    };
    report(&snapshot, &plan, &outcome, now)
}

fn condition<'a>(report: &'a Report, kind: &str) -> &'a Value {
    let conditions = report.status.as_ref().unwrap()["conditions"].as_array().unwrap();
    conditions.iter().find(|one| one["type"] == *kind).unwrap()
}

fn reasons(report: &Report) -> Vec<(&'static str, bool)> {
    report.events.iter().map(|event| (event.reason.as_str(), event.about.is_some())).collect()
}

fn max(value: &str) -> Value {
    json!({"spec": {"maxUnhealthy": value}})
}

#[test]
fn the_status_counts_and_a_deletion_is_reported_on_machine_and_health_check() {
    let members = vec![healthy("a"), with_node("b", "Unknown", -5)];
    let report = reported(view(check(&max("2")), members, 0));
    let status = report.status.as_ref().unwrap();
    assert_eq!((&status["expectedMachines"], &status["currentHealthy"]), (&json!(2), &json!(1)));
    assert_eq!(status["remediationsAllowed"], 1);
    assert_eq!(condition(&report, "RemediationAllowed")["status"], "True");
    assert_eq!(reasons(&report), [("MachineDeleted", true), ("MachineDeleted", false)]);
    assert_eq!((report.result, report.retry), (ReconcileResult::Changed, None));
}

#[test]
fn a_suspect_names_the_time_and_wakes_the_health_check_then() {
    let members = vec![healthy("a"), with_node("b", "Unknown", -2), booting("c", at(-3))];
    let report = reported(view(check(&json!({})), members, 0));
    let message = condition(&report, "MachinesHealthy")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("remediated at 2026-06-01T12:03:00Z"), "{message}");
    assert_eq!(reasons(&report), [("DetectedUnhealthy", true)]);
    let wait = Duration::from_mins(3) + Duration::from_millis(1);
    assert_eq!(report.retry, Some(Retry::Again(wait)));
}

#[test]
fn a_short_circuit_is_reported_and_waits_for_a_change() {
    let members = vec![with_node("a", "Unknown", -9), with_node("b", "Unknown", -9), healthy("c")];
    let report = reported(view(check(&max("1")), members, 0));
    let allowed = condition(&report, "RemediationAllowed");
    let (reason, severity) = (&allowed["reason"], &allowed["severity"]);
    assert_eq!((reason, severity), (&json!("TooManyUnhealthy"), &json!("Warning")));
    assert_eq!(report.status.as_ref().unwrap()["remediationsAllowed"], 0);
    assert_eq!(reasons(&report)[0], ("RemediationRestricted", false));
    assert_eq!(report.retry, None);
}

#[test]
fn an_invalid_spec_is_a_condition_and_an_event() {
    let report = reported(view(check(&max("lots")), vec![healthy("a")], 0));
    let allowed = condition(&report, "RemediationAllowed");
    assert_eq!(
        (&allowed["status"], &allowed["reason"]),
        (&json!("False"), &json!("InvalidConfiguration"))
    );
    assert_eq!(reasons(&report), [("InvalidConfiguration", false)]);
    assert_eq!(report.retry, Some(Retry::OnChange));
}

#[test]
fn a_status_that_is_up_to_date_is_not_written() {
    let status = json!({"status": {"expectedMachines": 1, "currentHealthy": 1, "remediationsAllowed": 1,
        "conditions": [{"type": "RemediationAllowed", "status": "True"},
            {"type": "MachinesHealthy", "status": "True"}]}});
    let report = reported(view(check(&status), vec![healthy("a")], 0));
    assert_eq!(report, Report::quiet(ReconcileResult::Settled));
}

#[test]
fn failures_back_off_and_what_recovered_is_looked_at_again() {
    let view = || view(check(&json!({})), vec![with_node("a", "Unknown", -9)], 0);
    let snapshot = snapshot(view());
    let plan = decide(&snapshot);
    let Plan::Assess(assessment) = &plan else { panic!("{plan}") };
    let with = |fate: Fate| {
        let meta = assessment.findings[0].meta.clone();
        report(&snapshot, &plan, &Outcome::Executed(vec![(meta, fate)]), at(0))
    };
    let outdated = with(Fate::Outdated);
    assert_eq!((outdated.retry, outdated.events.len()), (Some(Retry::Soon), 0));
    let failure = machinist_domain::retry::Failure {
        category: machinist_domain::retry::Category::Unauthorised,
        retry: Retry::OnChange,
        message: "forbidden".to_owned(),
    };
    let failed = with(Fate::Failed(failure));
    assert_eq!((failed.retry, failed.result), (Some(Retry::Backoff), ReconcileResult::Failed));
    assert_eq!(
        reasons(&failed),
        [("MachineDeletionFailed", true), ("MachineDeletionFailed", false)]
    );
}

//! Reports of external remediation.

use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Category, Failure};

use super::super::super::snapshot::{External, Template};
use super::*;

const TEMPLATE: &str = "ExternalRemediationTemplateAvailable";
const REQUEST: &str = "ExternalRemediationRequestAvailable";

fn external() -> External {
    let template = Template {
        name: "t".to_owned(),
        group_kind: "FixTemplate.fix.example.dev".to_owned(),
        request_kind: "Fix",
        body: Arc::new(json!({})),
    };
    External { kind: "Fix".to_owned(), template: Ok(template), requests: Ok(()) }
}

fn seen(external: External) -> View {
    let reference = json!({"apiVersion": "fix.example.dev/v1", "kind": "FixTemplate", "name": "t"});
    let check = check(&json!({"spec": {"remediationTemplate": reference}}));
    View { external: Some(external), ..view(check, vec![with_node("a", "Unknown", -9)], 0) }
}

fn failure(category: Category) -> Failure {
    Failure { category, retry: Retry::OnChange, message: "no".to_owned() }
}

#[test]
fn what_is_unavailable_is_a_condition_and_an_event_and_polled_where_nothing_is_watched() {
    let kind = "FixTemplate".to_owned();
    let not_served = Unavailable::NotServed { api_version: "fix.example.dev/v1".to_owned(), kind };
    let not_found = "ExternalRemediationTemplateNotFound";
    for (why, status, reason, retry) in [
        (Unavailable::NotFound(ObjectKey::new("ns", "t")), "False", not_found, None),
        (Unavailable::Empty(ObjectKey::new("ns", "t")), "False", not_found, None),
        (not_served, "False", not_found, Some(Retry::Backoff)),
        (
            Unavailable::Unreadable(failure(Category::Unauthorised)),
            "Unknown",
            "Unauthorised",
            Some(Retry::Backoff),
        ),
    ] {
        let report = reported(seen(External { template: Err(why), ..external() }));
        let shown = condition(&report, TEMPLATE);
        assert_eq!((&shown["status"], &shown["reason"]), (&json!(status), &json!(reason)));
        assert_eq!(condition(&report, REQUEST)["status"], "True");
        let expected = [("RemediationUnavailable", false), ("RemediationHeld", true)];
        assert_eq!((reasons(&report), report.retry), (expected.to_vec(), retry));
    }
}

#[test]
fn a_refused_object_is_a_condition_and_backs_off() {
    let snapshot = snapshot(seen(external()));
    let plan = decide(&snapshot);
    let Plan::Assess(assessment) = &plan else { panic!("{plan}") };
    let meta = assessment.findings[0].meta.clone();
    let with =
        |fate| report(&snapshot, &plan, &Outcome::Executed(vec![(meta.clone(), fate)]), at(0));
    let refused = with(Fate::Failed(failure(Category::InvalidConfiguration)));
    let shown = condition(&refused, REQUEST);
    let reason = "ExternalRemediationRequestCreationFailed";
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("False"), &json!(reason)));
    assert_eq!((refused.retry, refused.result), (Some(Retry::Backoff), ReconcileResult::Failed));
    let twice = |reason| vec![(reason, true), (reason, false)];
    assert_eq!(reasons(&refused), twice("RemediationRequestFailed"));

    let created = with(Fate::Requested);
    assert_eq!(condition(&created, REQUEST)["status"], "True");
    assert_eq!((reasons(&created), created.retry), (twice("RemediationRequested"), None));
}

#[test]
fn without_a_template_its_conditions_are_removed() {
    let stored = json!({"status": {"conditions": [
        {"type": TEMPLATE, "status": "True"}, {"type": REQUEST, "status": "True"},
        {"type": "Theirs", "status": "True"}]}});
    let report = reported(view(check(&stored), vec![healthy("a")], 0));
    let conditions = report.status.as_ref().unwrap()["conditions"].as_array().unwrap();
    let types: Vec<_> = conditions.iter().map(|one| &one["type"]).collect();
    assert_eq!(types, ["MachinesHealthy", "RemediationAllowed", "Theirs"]);
}

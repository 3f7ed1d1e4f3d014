use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};

use super::messages;
use super::plan::{Annotation, Outcome, Plan, Reason};

const ACTION: &str = "Annotate";

pub(super) fn report(plan: &Plan, outcome: &Outcome) -> Report {
    match (plan, outcome) {
        (_, Outcome::Failed(failure)) => {
            let text = messages::write_failed(failure);
            let event = EventNote::warning(EventReason::ReconcileError, ACTION, text);
            Report::failed(failure, event)
        }
        (Plan::Refuse(refusal), _) => Report {
            events: vec![EventNote::warning(refusal.event_reason(), ACTION, refusal.to_string())],
            retry: Some(refusal.retry()),
            ..Report::quiet(ReconcileResult::Refused)
        },
        (Plan::NoOp(Reason::CapacityPending), _) => Report::quiet(ReconcileResult::Waiting),
        (Plan::NoOp(_), _) | (_, Outcome::Gone) => Report::quiet(ReconcileResult::Settled),
        (Plan::Annotate(annotation), outcome) => {
            let written = *outcome == Outcome::Written;
            let result = if written { ReconcileResult::Changed } else { ReconcileResult::Settled };
            let events = events(annotation, written);
            Report { events, retry: annotation.retry, ..Report::quiet(result) }
        }
    }
}

fn events(annotation: &Annotation, written: bool) -> Vec<EventNote> {
    let (mut events, assessment) = (Vec::new(), &annotation.assessment);
    if written {
        if let Some(text) = messages::annotated(&assessment.change) {
            events.push(EventNote::normal(EventReason::Annotated, ACTION, text));
        }
        if let Some(wrong) = &assessment.contradicted_architecture {
            let text = messages::architecture_replaced(wrong);
            events.push(EventNote::warning(EventReason::ArchitectureReplaced, ACTION, text));
        }
        if !assessment.newly_kept.is_empty() {
            let text = messages::user_value_kept(&assessment.newly_kept);
            events.push(EventNote::normal(EventReason::UserValueKept, ACTION, text));
        }
    }
    if let Some(failure) = &annotation.fallback {
        let text = messages::catalogue_used(failure);
        events.push(EventNote::warning(EventReason::CatalogueUsed, ACTION, text));
    }
    events
}

#[cfg(test)]
mod tests {
    use machinist_api::names::ANNOTATION_ANNOTATED;
    use machinist_domain::annotations::AnnotationChange;
    use machinist_domain::capacity_annotations::Assessment;
    use machinist_domain::retry::{Category, Failure, Retry};
    use machinist_provider::spec::SpecError;

    use super::super::error::Refusal;
    use super::*;

    fn failure(category: Category) -> Failure {
        Failure { category, retry: Retry::Backoff, message: "no".to_owned() }
    }

    fn reasons(report: &Report) -> Vec<&'static str> {
        report.events.iter().map(|event| event.reason.as_str()).collect()
    }

    fn annotate(assessment: Assessment, fallback: Option<Failure>, outcome: &Outcome) -> Report {
        report(&Plan::Annotate(Annotation { assessment, fallback, retry: None }), outcome)
    }

    fn change() -> AnnotationChange {
        let mut change = AnnotationChange::default();
        change.want("a/b", None, "2");
        change.remove("a/c", Some("1"));
        change.want(ANNOTATION_ANNOTATED, None, "v1:b=2");
        change
    }

    #[test]
    fn reports_writes_and_nothing_else() {
        let unchanged = annotate(Assessment::default(), None, &Outcome::Unchanged);
        assert_eq!(unchanged, Report::quiet(ReconcileResult::Settled));
        let assessment = Assessment { change: change(), ..Assessment::default() };
        let written = annotate(assessment, None, &Outcome::Written);
        assert_eq!(
            (written.result, reasons(&written)),
            (ReconcileResult::Changed, vec!["Annotated"])
        );
        assert_eq!(written.events[0].note, "Set a/b=2; removed a/c");
    }

    #[test]
    fn an_event_never_has_an_empty_message() {
        let mut change = AnnotationChange::default();
        change.want(ANNOTATION_ANNOTATED, None, "v1:b=2");
        let assessment = Assessment { change, ..Assessment::default() };
        let report = annotate(assessment, None, &Outcome::Written);
        assert_eq!((report.result, report.events), (ReconcileResult::Changed, Vec::new()));
    }

    #[test]
    fn reports_kept_user_values_once_and_replaced_ones() {
        let assessment = Assessment {
            change: change(),
            kept: vec!["x/cpu", "x/memory"],
            newly_kept: vec!["x/cpu"],
            contradicted_architecture: Some("amd64".to_owned()),
        };
        let repeated = Assessment { newly_kept: vec![], ..assessment.clone() };
        assert_eq!(reasons(&annotate(repeated, None, &Outcome::Unchanged)), [""; 0]);
        let report = annotate(assessment, Some(failure(Category::Throttled)), &Outcome::Written);
        let expected = ["Annotated", "ArchitectureReplaced", "UserValueKept", "CatalogueUsed"];
        assert_eq!(reasons(&report), expected);
        assert!(!report.events[2].note.contains("x/memory"));
        assert!(report.events[3].note.ends_with("(Throttled): no"));
    }

    #[test]
    fn unknown_types_and_bad_specs_have_their_own_reasons_and_wait_for_a_change() {
        let instance_type = "x9.mega".to_owned();
        let cases = [
            (
                Refusal::UnknownType { instance_type, provider: "aws" },
                EventReason::FailedUpdate,
                "x9.mega",
            ),
            (Refusal::NoCapacities { provider: "x" }, EventReason::FailedUpdate, "Provider x"),
            (Refusal::BadSpec(SpecError::Missing), EventReason::ReconcileError, "providerSpec"),
            (
                Refusal::CloudFailed(failure(Category::Unauthorised)),
                EventReason::ReconcileError,
                "Cannot read capacities",
            ),
        ];
        for (refusal, reason, text) in cases {
            let report = report(&Plan::Refuse(refusal), &Outcome::Unchanged);
            assert_eq!(report.result, ReconcileResult::Refused);
            assert_eq!(report.retry, Some(Retry::OnChange));
            assert_eq!(report.events[0].reason, reason);
            assert!(report.events[0].note.contains(text), "{}", report.events[0].note);
        }
    }

    #[test]
    fn only_failures_that_need_attention_become_events() {
        let events = |category| {
            let failed = Outcome::Failed(failure(category));
            annotate(Assessment::default(), None, &failed).events.len()
        };
        assert_eq!(events(Category::Conflict), 0);
        assert_eq!(events(Category::Unavailable), 0);
        assert_eq!(events(Category::Unauthorised), 1);
        assert_eq!(events(Category::Unexpected), 1, "a failing webhook");
    }

    #[test]
    fn a_deleted_machine_set_is_not_reported() {
        let report = annotate(Assessment::default(), None, &Outcome::Gone);
        assert_eq!(report, Report::quiet(ReconcileResult::Settled));
    }
}

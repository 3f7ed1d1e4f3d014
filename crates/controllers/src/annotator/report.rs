//! What to tell people about a pass.

use machinist_api::names::ANNOTATION_ANNOTATED;
use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::{Category, Classified};

use super::error::Refusal;
use super::plan::{Outcome, Truth};

/// How many characters of a failure's message a note has room for.
const MESSAGE_LENGTH: usize = 200;

/// Reports. Time plays no part in it.
pub fn report(outcome: &Outcome) -> Report {
    match outcome {
        Outcome::Left => Report::quiet(PassResult::Settled),
        Outcome::Waiting => Report::quiet(PassResult::Waiting),
        Outcome::Told { truth, wrote } => Report {
            status: None,
            result: if *wrote { PassResult::Changed } else { PassResult::Settled },
            events: told(truth, *wrote),
            retry: truth.retry,
        },
        Outcome::Refused(refusal) => Report {
            status: None,
            result: PassResult::Refused,
            events: vec![note(EventType::Warning, refused(refusal), refusal.to_string())],
            retry: Some(refusal.retry()),
        },
        Outcome::Failed(failure) => Report {
            status: None,
            result: PassResult::Failed,
            // A conflict or a lost lease is how the protocol works; a write that the API server does not take needs somebody to look.
            events: match failure.category {
                Category::InvalidConfiguration | Category::Unauthorised | Category::Unexpected => {
                    let message = failure.message.clone();
                    vec![note(EventType::Warning, EventReason::ReconcileError, message)]
                }
                _ => Vec::new(),
            },
            retry: Some(failure.retry),
        },
    }
}

fn told(truth: &Truth, wrote: bool) -> Vec<EventNote> {
    let mut events = Vec::new();
    let assessment = &truth.assessment;
    if wrote {
        // Our own record of what we wrote says nothing that the keys themselves do not say.
        let told = assessment.change.iter().filter(|(key, _)| *key != ANNOTATION_ANNOTATED);
        let keys = told.map(|(key, value)| match value {
            Some(value) => format!("{key}={value}"),
            None => format!("{key} removed"),
        });
        let message = keys.collect::<Vec<_>>().join(", ");
        events.push(note(EventType::Normal, EventReason::Annotated, message));
    }
    if let Some(wrong) = assessment.contradicted_architecture.as_ref().filter(|_| wrote) {
        let message =
            format!("kubernetes.io/arch={wrong} is not what these machines are, replaced");
        events.push(note(EventType::Warning, EventReason::ArchitectureReplaced, message));
    }
    if wrote && !assessment.newly_kept.is_empty() {
        let message = format!("left as somebody set them: {}", assessment.newly_kept.join(", "));
        events.push(note(EventType::Normal, EventReason::UserValueKept, message));
    }
    if let Some(failure) = &truth.fallback {
        let category = failure.category.as_str();
        let cause: String = failure.message.chars().take(MESSAGE_LENGTH).collect();
        let message = format!(
            "the built-in catalogue answered, because the cloud did not: {category}: {cause}"
        );
        events.push(note(EventType::Warning, EventReason::CatalogueUsed, message));
    }
    events
}

fn refused(refusal: &Refusal) -> EventReason {
    match refusal {
        Refusal::UnknownType { .. } => EventReason::FailedUpdate,
        Refusal::BadSpec(_)
        | Refusal::Undecodable { .. }
        | Refusal::NoSecret(_)
        | Refusal::NotFoundOut(_)
        | Refusal::CouldNotAsk(_) => EventReason::ReconcileError,
    }
}

fn note(event_type: EventType, reason: EventReason, note: String) -> EventNote {
    EventNote { event_type, reason, action: "Annotate", note }
}

#[cfg(test)]
mod tests {
    use machinist_domain::annotations::AnnotationChange;
    use machinist_domain::capacity_annotations::Assessment;
    use machinist_domain::retry::{Failure, Retry};
    use machinist_provider::spec::SpecError;

    use super::*;

    fn failure(category: Category) -> Failure {
        Failure { category, retry: Retry::Backoff, message: "no".to_owned() }
    }

    fn reasons(report: &Report) -> Vec<&'static str> {
        report.events.iter().map(|event| event.reason.as_str()).collect()
    }

    fn told(assessment: Assessment, fallback: Option<Failure>, wrote: bool) -> Report {
        report(&Outcome::Told { truth: Truth { assessment, fallback, retry: None }, wrote })
    }

    #[test]
    fn what_is_right_already_is_quiet_and_what_was_written_is_said() {
        assert_eq!(told(Assessment::default(), None, false), Report::quiet(PassResult::Settled));
        let mut change = AnnotationChange::default();
        change.want("a/b", None, "2");
        change.remove("a/c", Some("1"));
        change.want(ANNOTATION_ANNOTATED, None, "v1:b=2");
        let report = told(Assessment { change, ..Assessment::default() }, None, true);
        assert_eq!((report.result, reasons(&report)), (PassResult::Changed, vec!["Annotated"]));
        assert_eq!(report.events[0].note, "a/b=2, a/c removed");
    }

    #[test]
    fn what_users_set_and_what_we_replace_is_said() {
        let assessment = Assessment {
            kept: vec!["x/cpu", "x/memory"],
            newly_kept: vec!["x/cpu"],
            contradicted_architecture: Some("amd64".to_owned()),
            ..Assessment::default()
        };
        let repeated = told(Assessment { newly_kept: vec![], ..assessment.clone() }, None, false);
        assert_eq!(reasons(&repeated), [""; 0], "what somebody set is told once");
        let report = told(assessment, Some(failure(Category::Throttled)), true);
        assert_eq!(report.events[2].note, "left as somebody set them: x/cpu");
        let expected = ["Annotated", "ArchitectureReplaced", "UserValueKept", "CatalogueUsed"];
        assert_eq!(reasons(&report), expected);
        assert!(report.events[3].note.ends_with("the cloud did not: Throttled: no"));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let message = "é".repeat(1000);
        let failure = Failure { message, ..failure(Category::Unavailable) };
        let report = told(Assessment::default(), Some(failure), false);
        assert_eq!(report.events[0].note.matches('é').count(), MESSAGE_LENGTH);
    }

    #[test]
    fn an_unknown_type_and_a_bad_spec_have_their_own_reasons_and_wait_for_a_change() {
        let unknown = Refusal::UnknownType { instance_type: "x9.mega".to_owned() };
        let cases = [
            (unknown, EventReason::FailedUpdate, "x9.mega"),
            (Refusal::BadSpec(SpecError::Missing), EventReason::ReconcileError, "providerSpec"),
            (
                Refusal::CouldNotAsk(failure(Category::Unauthorised)),
                EventReason::ReconcileError,
                "could not be asked",
            ),
        ];
        for (refusal, reason, text) in cases {
            let report = report(&Outcome::Refused(refusal));
            assert_eq!(report.result, PassResult::Refused);
            assert_eq!(report.retry, Some(Retry::OnChange));
            assert_eq!(report.events[0].reason, reason);
            assert!(report.events[0].note.contains(text), "{}", report.events[0].note);
        }
    }

    #[test]
    fn only_failures_that_somebody_can_mend_become_events() {
        let events = |category| report(&Outcome::Failed(failure(category))).events.len();
        assert_eq!(events(Category::Conflict), 0);
        assert_eq!(events(Category::Unavailable), 0);
        assert_eq!(events(Category::Unauthorised), 1);
        assert_eq!(events(Category::Unexpected), 1, "a webhook that fails");
    }
}

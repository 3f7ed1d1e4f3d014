//! What to tell people about a pass.

use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::{Category, Classified};

use super::error::Refusal;
use super::plan::Outcome;

const ACTION: &str = "Annotate";

/// Reports. Time plays no part in it.
pub fn report(outcome: &Outcome) -> Report {
    match outcome {
        Outcome::Settled => Report::quiet(PassResult::Settled),
        Outcome::Annotated => Report::quiet(PassResult::Changed),
        Outcome::Refused(refusal) => Report {
            result: PassResult::Refused,
            events: vec![EventNote {
                event_type: EventType::Warning,
                reason: match refusal {
                    Refusal::UnknownType { .. } => EventReason::FailedUpdate,
                    Refusal::BadSpec(_) | Refusal::Undecodable { .. } => {
                        EventReason::ReconcileError
                    }
                },
                action: ACTION,
                note: refusal.to_string(),
            }],
            retry: Some(refusal.retry()),
        },
        Outcome::Failed(failure) => Report {
            result: PassResult::Failed,
            // A conflict or a lost lease is how the protocol works; a write that the API server does not take needs somebody to look.
            events: match failure.category {
                Category::InvalidConfiguration | Category::Unauthorised => vec![EventNote {
                    event_type: EventType::Warning,
                    reason: EventReason::ReconcileError,
                    action: ACTION,
                    note: failure.message.clone(),
                }],
                _ => Vec::new(),
            },
            retry: Some(failure.retry),
        },
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::retry::{Failure, Retry};
    use machinist_provider::spec::SpecError;

    use super::*;

    fn failed(category: Category) -> Report {
        report(&Outcome::Failed(Failure {
            category,
            retry: Retry::Backoff,
            message: "no".to_owned(),
        }))
    }

    #[test]
    fn what_went_well_is_quiet() {
        assert_eq!(report(&Outcome::Annotated), Report::quiet(PassResult::Changed));
        assert_eq!(report(&Outcome::Settled), Report::quiet(PassResult::Settled));
    }

    #[test]
    fn an_unknown_type_and_a_bad_spec_have_their_own_reasons_and_wait_for_an_edit() {
        let unknown = Refusal::UnknownType { instance_type: "x9.mega".to_owned() };
        let cases = [
            (unknown, EventReason::FailedUpdate, "x9.mega"),
            (Refusal::BadSpec(SpecError::Missing), EventReason::ReconcileError, "providerSpec"),
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
        assert!(failed(Category::Conflict).events.is_empty());
        assert!(failed(Category::Unavailable).events.is_empty());
        assert_eq!(failed(Category::Unauthorised).events.len(), 1);
    }
}

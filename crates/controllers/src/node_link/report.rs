//! What to tell people; pure.

use machinist_domain::report::{EventNote, EventReason, EventType, PassResult, Report};
use machinist_domain::retry::Classified;

use super::plan::Outcome;

/// Reports. That Machine and Node found each other is no news: the Machine's phase says it.
pub fn report(outcome: &Outcome) -> Report {
    match outcome {
        Outcome::Left => Report::quiet(PassResult::Settled),
        Outcome::Linked => Report::quiet(PassResult::Changed),
        Outcome::Refused(refusal) => Report {
            events: vec![not_linked(refusal.to_string())],
            retry: Some(refusal.retry()),
            ..Report::quiet(PassResult::Refused)
        },
        Outcome::Failed(failure) => Report {
            events: if failure.category.is_for_people() {
                vec![not_linked(failure.message.clone())]
            } else {
                Vec::new()
            },
            retry: Some(failure.retry),
            ..Report::quiet(PassResult::Failed)
        },
    }
}

fn not_linked(note: String) -> EventNote {
    let (event_type, reason) = (EventType::Warning, EventReason::NodeNotLinked);
    EventNote { event_type, reason, action: "Link", note }
}

#[cfg(test)]
mod tests {
    use machinist_domain::retry::{Category, Failure, Retry};

    use super::*;

    #[test]
    fn a_write_that_is_not_taken_is_told_and_one_that_came_too_late_is_not() {
        let said = |category| {
            let failure = Failure { category, retry: Retry::Backoff, message: "no".to_owned() };
            let Report { events, retry, status, .. } = report(&Outcome::Failed(failure));
            assert_eq!((retry, status), (Some(Retry::Backoff), None));
            events.into_iter().map(|event| (event.reason, event.note)).collect::<Vec<_>>()
        };
        let told = [(EventReason::NodeNotLinked, "no".to_owned())];
        assert_eq!(said(Category::InvalidConfiguration), told);
        assert_eq!(said(Category::Unauthorised), told);
        assert_eq!(said(Category::Unexpected), told, "a webhook that fails");
        for quiet in [Category::Conflict, Category::NotLeader, Category::Unavailable] {
            assert_eq!(said(quiet), []);
        }
    }
}

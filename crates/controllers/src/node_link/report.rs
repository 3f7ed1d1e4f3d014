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
            events: vec![EventNote {
                event_type: EventType::Warning,
                reason: EventReason::NodeNotLinked,
                action: "Link",
                note: refusal.to_string(),
            }],
            retry: Some(refusal.retry()),
            ..Report::quiet(PassResult::Refused)
        },
        Outcome::Failed(failure) => {
            Report { retry: Some(failure.retry), ..Report::quiet(PassResult::Failed) }
        }
    }
}

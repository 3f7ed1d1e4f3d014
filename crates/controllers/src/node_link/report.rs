use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::Retry;

use super::messages;
use super::plan::{Outcome, Plan};

/// A new link has no Event: the Machine's phase shows it.
pub(super) fn report(plan: &Plan, outcome: &Outcome) -> Report {
    match (outcome, plan) {
        (Outcome::Done, Plan::Refuse(refusal)) => Report {
            events: vec![not_linked(refusal.to_string())],
            retry: Some(Retry::OnChange),
            ..Report::quiet(ReconcileResult::Refused)
        },
        (Outcome::Done, _) => Report::quiet(ReconcileResult::Settled),
        (Outcome::Linked, _) => Report::quiet(ReconcileResult::Changed),
        (Outcome::Failed(failure), _) => {
            Report::failed(failure, not_linked(messages::write_failed(&failure.message)))
        }
    }
}

fn not_linked(note: String) -> EventNote {
    EventNote::warning(EventReason::NodeNotLinked, "Link", note)
}

#[cfg(test)]
mod tests {
    use machinist_domain::retry::{Category, Failure};

    use super::super::plan::Link;
    use super::*;

    fn link() -> Plan {
        Plan::Link(Link { machine: None, node: None })
    }

    #[test]
    fn reports_writes_that_need_attention_and_no_conflicts() {
        let notes = |category| {
            let failure = Failure { category, retry: Retry::Backoff, message: "no".to_owned() };
            let Report { events, retry, status, .. } = report(&link(), &Outcome::Failed(failure));
            assert_eq!((retry, status), (Some(Retry::Backoff), None));
            events.into_iter().map(|event| (event.reason, event.note)).collect::<Vec<_>>()
        };
        let expected = [(EventReason::NodeNotLinked, messages::write_failed("no"))];
        assert_eq!(notes(Category::InvalidConfiguration), expected);
        assert_eq!(notes(Category::Unauthorised), expected);
        assert_eq!(notes(Category::Unexpected), expected, "a failing webhook");
        for quiet in [Category::Conflict, Category::NotLeader, Category::Unavailable] {
            assert_eq!(notes(quiet), []);
        }
    }
}

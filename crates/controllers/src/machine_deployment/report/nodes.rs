//! Reports writes of marks on Nodes. A rollout does not wait for them: a failure is an Event, and part of the message
//! of `Progressing` until they are tried again.

use std::time::Duration;

use machinist_domain::conditions::Condition;
use machinist_domain::report::{EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Failure, Retry};

use super::super::messages;
use super::super::plan::Outcome;
use super::super::snapshot::View;
use super::warning;

/// The next reconcile goes on with the rollout, and the status follows from that.
pub(super) fn failed(failure: &Failure) -> Report {
    let known = failure.category.needs_attention();
    let text = messages::marks_failed(&failure.message);
    let events = known.then(|| warning(EventReason::FailedUpdate, &text)).into_iter().collect();
    let retry = Some(Retry::Again(Duration::from_millis(1)));
    Report { events, retry, ..Report::quiet(ReconcileResult::Failed) }
}

/// Of a deployment that is deleted or being deleted: there is nothing to report on.
pub(super) fn released(outcome: &Outcome) -> Report {
    let (result, retry) = match outcome {
        Outcome::Failed(failure) => (ReconcileResult::Failed, Some(failure.retry.or_backoff())),
        Outcome::Outdated => (ReconcileResult::Waiting, Some(Retry::Soon)),
        Outcome::DryRun => (ReconcileResult::Changed, None),
        _ => (ReconcileResult::Changed, Some(Retry::Again(Duration::from_millis(1)))),
    };
    Report { retry, ..Report::quiet(result) }
}

/// Why marks could not be written, if a person has to do something about it.
pub(super) fn trouble(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed(failure) => {
            failure.category.needs_attention().then_some(failure.message.as_str())
        }
        _ => None,
    }
}

/// When Nodes are tried again.
pub(super) fn again(view: &View) -> Option<Duration> {
    let trouble = view.nodes.trouble.as_ref()?;
    Some(trouble.until.saturating_sub(view.uptime))
}

/// The condition `Progressing`, with what keeps Nodes from being marked.
pub(super) fn noted(condition: Condition, view: &View) -> Condition {
    let cause = view.nodes.trouble.as_ref().and_then(|trouble| trouble.cause.as_deref());
    let Some(cause) = cause else { return condition };
    let text = condition.message.as_deref().unwrap_or_default();
    let message = Some(messages::without_marks(text, cause).into_boxed_str());
    Condition { message, ..condition }
}

#[cfg(test)]
mod tests {
    use machinist_domain::retry::Category;
    use serde_json::json;

    use super::super::super::decide::decide;
    use super::super::super::plan::{Plan, Reason};
    use super::super::super::samples::{deployment, now, set, snapshot, with_members};
    use super::super::super::snapshot::NodeTrouble;
    use super::super::report;
    use super::*;

    fn failure(category: Category) -> Failure {
        Failure { category, retry: Retry::Backoff, message: "Node n: no".to_owned() }
    }

    #[test]
    fn a_failed_mark_is_an_event_and_the_rollout_goes_on_at_once() {
        let sets = vec![with_members(set("b", 3, 2, &json!({})), 3, 0)];
        let mut snapshot = snapshot(&deployment(), sets);
        let plan = Plan::MarkNodes { nodes: Vec::new(), rest: Some(Reason::Complete) };
        let refused = Outcome::Failed(failure(Category::Unauthorised));
        let told = report(&snapshot, &plan, &refused, now());
        assert_eq!(told.events[0].note, messages::marks_failed("Node n: no"));
        assert!(matches!(told.retry, Some(Retry::Again(soon)) if soon < Duration::from_secs(1)));
        assert_eq!((told.status, told.result), (None, ReconcileResult::Failed));
        let lost = Outcome::Failed(failure(Category::Unavailable));
        assert_eq!(report(&snapshot, &plan, &lost, now()).events, []);
        // A deployment that is being deleted has nothing else to do.
        snapshot.meta.deleting = true;
        assert_eq!(report(&snapshot, &plan, &refused, now()).retry, Some(Retry::Backoff));
        assert_eq!(report(&snapshot, &plan, &refused, now()).events, []);
    }

    #[test]
    fn a_deployment_in_deletion_says_so_while_its_marks_cannot_be_removed() {
        let sets = || vec![with_members(set("b", 3, 2, &json!({})), 3, 0)];
        let mut stored = deployment();
        let complete = snapshot(&stored, sets());
        let plan = decide(&complete, now());
        stored["status"] = report(&complete, &plan, &Outcome::Nothing, now()).status.unwrap();
        let mut snapshot = snapshot(&stored, sets());
        snapshot.meta.deleting = true;
        let plan = Plan::MarkNodes { nodes: Vec::new(), rest: Some(Reason::Deleting) };
        for (outcome, expected) in [
            (Outcome::Executed, messages::DELETING.to_owned()),
            (Outcome::Failed(failure(Category::Unavailable)), messages::DELETING.to_owned()),
            (Outcome::Failed(failure(Category::Unauthorised)), messages::deleting("Node n: no")),
        ] {
            let told = report(&snapshot, &plan, &outcome, now());
            let conditions = told.status.unwrap()["conditions"].take();
            for one in conditions.as_array().unwrap() {
                assert_eq!(
                    (&one["reason"], &one["message"]),
                    (&json!("Deleting"), &json!(expected))
                );
            }
        }
        assert_eq!(report(&snapshot, &plan, &Outcome::DryRun, now()).status, None);
    }

    #[test]
    fn progressing_says_so_until_nodes_are_tried_again() {
        let sets = vec![with_members(set("b", 3, 2, &json!({})), 3, 0)];
        let mut snapshot = snapshot(&deployment(), sets);
        let (cause, until) = (Some("Node n: no".to_owned()), Duration::from_secs(20));
        snapshot.content.as_mut().unwrap().nodes.trouble = Some(NodeTrouble { cause, until });
        let plan = decide(&snapshot, now());
        let told = report(&snapshot, &plan, &Outcome::Nothing, now());
        assert_eq!(told.retry, Some(Retry::Again(until)));
        let conditions = told.status.unwrap()["conditions"].take();
        let progressing =
            conditions.as_array().unwrap().iter().find(|one| one["type"] == "Progressing");
        let expected = "Revision 2 is complete: MachineSet b has 3 available Machines; \
            cannot change marks on Nodes: Node n: no";
        assert_eq!(progressing.unwrap()["message"], expected);
    }
}

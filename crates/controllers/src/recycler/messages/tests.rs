use machinist_domain::message_table::message_table;
use machinist_domain::retry::{Category, Retry};
use serde_json::json;

use super::*;
use crate::recycler::samples::{Sample, now};

fn failure(message: &str) -> Failure {
    let (category, retry) = (Category::Unauthorised, Retry::Backoff);
    Failure { category, retry, message: message.to_owned() }
}

/// One of each refusal of a group.
fn group_refusals(failure: Failure) -> Vec<recycling::Refusal> {
    use crate::recycler::recycling::Refusal;
    vec![
        Refusal::NotFound,
        Refusal::Unreachable(failure),
        Refusal::Empty,
        Refusal::Deleting,
        Refusal::Suspended("Launch"),
        Refusal::WarmPool,
        Refusal::Protected("i-1".into()),
        Refusal::OutOfService("i-1".into()),
        Refusal::ManagedByEks,
        Refusal::OwnNode("n1".into()),
        Refusal::Busy("v1 a1 recycler/night-shift Replace 1/4/3 2026-11-16T02:00:00Z".to_owned()),
        Refusal::Busy("v9".to_owned()),
        Refusal::RefreshRunning,
    ]
}

#[test]
fn all_messages() {
    let facts = Sample::new(&json!({})).facts;
    let text = str::to_owned;
    let forbidden = failure("the API server answered 403 Forbidden");
    let denied = failure("DescribeAutoScalingGroups failed with AccessDenied: not authorized");
    let mut rows = vec![
        ("Event Normal", "RecycleBegins", begins("workers", 5, &facts)),
        ("Event Normal", "RecycleBegins", resumes("workers")),
        ("Event Normal", "WouldRecycle", would_recycle("workers", 5, &facts)),
        ("Event Warning", "ReconcileError", finalizer_not_written(&forbidden)),
        ("Event Warning", "ReconcileError", recycle_not_stored(&forbidden)),
        ("condition Recycling=True", "InProgress", in_progress(&[text("workers")], &[])),
        ("condition Recycling=False", "DryRun", dry_run("workers")),
    ];
    for refusal in group_refusals(denied.clone()) {
        let place = "Event Warning RecycleRefused, condition Recycling=False";
        rows.push((place, "Refused", cannot_recycle("workers", &refusal)));
    }
    rows.push(("condition Recycling=False", "CoolDown", held("workers", &Hold::Active)));
    for hold in [
        Hold::Elsewhere("night-shift".into()),
        Hold::CoolDown(now()),
        Hold::Concurrency,
        Hold::Schedule(Some(now())),
        Hold::Schedule(None),
    ] {
        rows.push(("condition Recycling=False", hold.reason(), held("workers", &hold)));
    }
    for refusal in [
        Refusal::NothingToLookFor,
        Refusal::EmptyTerm,
        Refusal::Duration { field: "window", text: text("abc") },
        Refusal::Number { field: "threshold", number: 0 },
        Refusal::Unreachable { threshold: 1001, most: 1000 },
        Refusal::Pattern(text("(")),
        Refusal::Schedule(text("25:00")),
    ] {
        let place = "condition Ready=False, Event Warning FailedValidate";
        rows.push((place, "InvalidConfiguration", refusal.to_string()));
    }
    let undecodable = Refusal::Undecodable(text(
        "spec.threshold: invalid type: string \"x\", expected a whole number",
    ));
    rows.push(("Event Warning", "FailedValidate", undecodable.to_string()));
    let pod = Involved::Pod { namespace: "ns".into(), name: "web".into(), uid: None };
    for why in [
        POD_WITHOUT_NODE.to_owned(),
        POD_NOT_FOUND.to_owned(),
        HOST_NOT_TRUSTED.to_owned(),
        node_not_found("n1"),
        no_provider_id("n1"),
        no_region("n1"),
        no_group("i-1"),
        group_pending("i-1"),
        group_unknown("i-1", &denied.message),
    ] {
        rows.push(("status.unmapped.example", "", unmapped(&pod, &why)));
    }
    insta::assert_snapshot!("messages", message_table(&rows));
}

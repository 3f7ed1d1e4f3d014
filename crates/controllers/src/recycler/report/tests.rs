use machinist_domain::observed::Observed;
use machinist_domain::report::EventType;
use machinist_domain::retry::Category;
use machinist_provider::node_groups::{Group, Sizes};
use serde_json::{Value, json};

use super::*;
use crate::recycler::decide::decide;
use crate::recycler::plan::Finalizer;
use crate::recycler::recycling::GroupState;
use crate::recycler::samples::{REGION, Sample, group, now, recycle};

/// The candidates have these descriptions, in their order. The report has the status that `act` writes, too.
fn reconcile_with(sample: &Sample, groups: Vec<GroupState>) -> Report {
    let candidates = decide(&sample.snapshot(), now()).candidates;
    let mut sample = sample.clone();
    for (candidate, state) in candidates.iter().zip(groups) {
        let GroupRef { region, name } = &candidate.group;
        sample = sample.described(region, &name.0, state);
    }
    reconcile_of(&sample)
}

fn reconcile_of(sample: &Sample) -> Report {
    let snapshot = sample.snapshot();
    let plan = decide(&snapshot, now());
    let written = plan.stores().then_some(Ok(true));
    let stored = status(&sample.facts, &plan, now()).filter(|_| plan.stores());
    let steps = plan.steps.iter().map(|_| recycling::Outcome::Nothing).collect();
    let report = report(&snapshot, &plan, &Outcome { steps, written }, now());
    Report { status: report.status.or(stored), ..report }
}

fn reconcile(sample: &Sample, state: Option<GroupState>) -> Report {
    reconcile_with(sample, vec![state.unwrap_or(Observed::Absent)])
}

fn there(group: Group) -> GroupState {
    Observed::Present(Box::new(group))
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let list = status["conditions"].as_array().unwrap();
    list.iter().find(|one| one["type"] == kind).unwrap()
}

fn written(mut sample: Sample, status: &Value) -> Sample {
    let mut value = json!(*sample.facts.status);
    for (name, new) in status.as_object().unwrap() {
        value[name] = new.clone();
    }
    sample.facts.status = std::sync::Arc::new(serde_json::from_value(value).unwrap());
    sample.facts.counting =
        crate::recycler::detection::counting::Counting::read(sample.facts.status.counting.as_ref());
    sample.facts.news.clear();
    sample
}

#[test]
fn a_reconcile_without_news_writes_nothing_after_the_first() {
    let sample = Sample::new(&json!({}));
    let first = reconcile(&sample, None);
    let status = first.status.unwrap();
    assert_eq!(condition(&status, "Ready")["status"], "True");
    assert_eq!(condition(&status, "Recycling")["reason"], "Idle");
    let second = reconcile(&written(sample, &status), None);
    assert_eq!(second, Report::quiet(ReconcileResult::Settled));
}

#[test]
fn counts_and_mark_are_stored_together() {
    let sample = Sample::new(&json!({})).news("a", "p", 2, 1).unmapped("q");
    let report = reconcile(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(status["eventCounts"], json!({"a": 2}));
    assert_eq!(status["counting"]["mark"], "20");
    assert!(status["counting"]["groups"]["a"].as_str().unwrap().ends_with("*2"));
    assert_eq!(status["unmapped"], json!({"count": 1, "example": "pod ns/q: no node"}));
    // Time alone changes the counts.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(60))));
}

#[test]
fn counts_alone_are_stored_every_other_second_at_most() {
    let sample = Sample::new(&json!({})).news("a", "p", 1, 0);
    let status = reconcile(&sample, None).status.unwrap();
    let sample = written(sample, &status).news("a", "q", 1, 0);
    let report = reconcile(&sample, None);
    assert_eq!((report.status, report.retry), (None, Some(Retry::Again(Duration::from_secs(2)))));
    let report = reconcile(&sample.news("a", "r", 1, 0), Some(there(group(2))));
    assert_eq!(report.status.unwrap()["activeRecycles"], json!(["a"]));
}

#[test]
fn a_recycle_is_stored_and_the_counts_of_its_group_are_dropped() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 1, 0);
    let report = reconcile(&sample, Some(there(group(2))));
    let status = report.status.unwrap();
    assert_eq!(status["recycles"][0]["step"], "Planned");
    assert_eq!(status["recycles"][0]["original"], json!({"min": 1, "max": 4, "desired": 2}));
    assert_eq!(status["recycles"][0]["events"], 5);
    assert_eq!(status["eventCounts"], json!({"b": 1}));
    assert_eq!(condition(&status, "Recycling")["status"], "True");
    assert_eq!(report.events[0].reason, EventReason::RecycleBegins);
    assert_eq!(report.retry, Some(Retry::Again(Duration::ZERO)));
}

#[test]
fn a_group_that_cannot_be_recycled_is_reported_and_requeued() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0);
    for (sight, word) in
        [(Observed::Absent, "not found"), (Observed::Present(Box::new(group(0))), "no instances")]
    {
        let report = reconcile(&sample, Some(sight));
        let status = report.status.unwrap();
        assert_eq!(status.get("recycles"), None);
        assert_eq!(report.events[0].reason, EventReason::RecycleRefused);
        assert!(report.events[0].note.contains(word), "{}", report.events[0].note);
        assert!(condition(&status, "Recycling")["message"].as_str().unwrap().contains(word));
        assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(60))));
    }
}

#[test]
fn a_refusal_is_an_event_once_for_each_reason() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0);
    let status = reconcile(&sample, Some(Observed::Absent)).status.unwrap();
    let sample = written(sample, &status);
    for (sight, events) in
        [(Observed::Absent, 0), (Observed::Present(Box::new(group(0))), 1), (Observed::Absent, 0)]
    {
        let report = reconcile(&sample.clone().news("a", "q", 1, 0), Some(sight));
        assert_eq!(report.events.len(), events, "{:?}", report.events);
    }
}

#[test]
fn the_next_group_is_recycled_where_the_worst_is_refused() {
    let sample = Sample::new(&json!({})).news("b", "q", 8, 0).news("a", "p", 5, 0);
    let report = reconcile_with(&sample, vec![there(group(0)), there(group(2))]);
    let status = report.status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["a"]));
    assert_eq!(status["eventCounts"], json!({"b": 8}));
    let message = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(
        message.starts_with("Recycling node group a; Cannot recycle node group b: "),
        "{message}"
    );
    let reasons: Vec<_> = report.events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, [EventReason::RecycleRefused, EventReason::RecycleBegins]);
    assert_eq!(report.retry, Some(Retry::Again(Duration::ZERO)));
}

#[test]
fn every_refused_group_has_one_event() {
    let sample = Sample::new(&json!({})).news("b", "q", 8, 0).news("bb", "p", 5, 0);
    let refused = || vec![Observed::Absent, Observed::Absent];
    let first = reconcile_with(&sample, refused());
    assert_eq!(first.events.len(), 2);
    let status = first.status.unwrap();
    let message = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(
        message.starts_with("Cannot recycle node group b: ")
            && message.contains("; Cannot recycle node group bb: "),
        "{message}"
    );
    let again = written(sample, &status).news("b", "q", 1, 0);
    assert!(reconcile_with(&again, refused()).events.is_empty());
    // Another reason is another Event.
    let mut other = status;
    other["refused"]["eu-west-3/b"] = json!("Empty");
    let report = reconcile_with(&written(again, &other).news("b", "q", 8, 0), refused());
    assert_eq!(report.events.len(), 1, "{:?}", report.events);
}

#[test]
fn groups_of_one_name_in_two_regions_have_the_region_in_their_name() {
    let sample = Sample::new(&json!({})).news_in("us-east-1", "a", 8).news_in("eu-west-3", "a", 2);
    let status = reconcile(&sample, Some(there(group(0)))).status.unwrap();
    assert_eq!(status["eventCounts"], json!({"us-east-1/a": 8, "eu-west-3/a": 2}));
    let message = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(message.starts_with("Cannot recycle node group us-east-1/a: "), "{message}");
    let status = reconcile(&sample, Some(there(group(2)))).status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["us-east-1/a"]));
    assert_eq!(status["recycles"][0]["region"], "us-east-1");
    assert_eq!(status["recycles"][0]["group"], "a");
    assert_eq!(status["eventCounts"], json!({"eu-west-3/a": 2}), "the other one still counts");
    // Only the counts of the group that was recycled are dropped.
    let mut sample = sample.active("a");
    sample.facts.recycles[0].recycle = recycle("a", "Succeeded");
    let status = reconcile(&sample, None).status.unwrap();
    assert_eq!(status["recycleHistory"][0]["region"], REGION);
    assert_eq!(status["eventCounts"], json!({"us-east-1/a": 8}));
}

#[test]
fn an_interrupted_recycle_is_resumed_without_counts() {
    let mut plan = recycle("a", "Emptying");
    plan.strategy = machinist_api::event_recycler::spec::Strategy::ScaleToZero;
    let mark = Some(recycling::mark::write(&plan, "recycler/gone"));
    let at_zero = there(Group { sizes: Sizes::ZERO, mark, ..group(0) });
    let left = |sample: &Sample, state: GroupState| {
        reconcile_of(&sample.clone().described(REGION, "a", state))
    };
    let unchecked = |more: &Value| {
        let mut sample = Sample::new(more);
        sample.facts.unchecked = vec![GroupRef::new(REGION, "a")];
        sample
    };
    let report = left(&unchecked(&json!({})), at_zero.clone());
    let status = report.status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["a"]));
    assert_eq!(status["recycles"][0]["step"], "Emptying");
    assert_eq!(status["recycles"][0]["original"], json!({"min": 1, "max": 4, "desired": 3}));
    assert_eq!(report.events[0].reason, EventReason::RecycleBegins);
    assert_eq!(report.retry, Some(Retry::Again(Duration::ZERO)));
    // Not where another EventRecycler has it, nor in a dry run, nor where nothing is wrong.
    let mut elsewhere = unchecked(&json!({}));
    elsewhere = elsewhere.recycled_elsewhere("a", &plan.id);
    let pretends = unchecked(&json!({"dryRun": true}));
    for (sample, state) in [
        (elsewhere, at_zero.clone()),
        (pretends, at_zero),
        (unchecked(&json!({})), there(group(2))),
        (unchecked(&json!({})), Observed::Absent),
    ] {
        assert_eq!(left(&sample, state).status.unwrap().get("recycles"), None);
    }
    let failure = Failure {
        category: machinist_domain::retry::Category::Unauthorised,
        retry: Retry::Backoff,
        message: "not allowed".to_owned(),
    };
    let report = left(&unchecked(&json!({})), Observed::Unknown(failure));
    let status = report.status.unwrap();
    assert_eq!(condition(&status, "Recycling")["message"], "a: not allowed");
    assert_eq!(report.retry, Some(Retry::Backoff), "it is described again");
}

#[test]
fn an_incomplete_list_is_requeued() {
    let mut sample = Sample::new(&json!({}));
    let status = reconcile(&sample, None).status.unwrap();
    sample = written(sample, &status);
    assert_eq!(reconcile(&sample, None).retry, None);
    sample.facts.incomplete = true;
    assert_eq!(reconcile(&sample, None).retry, Some(Retry::Again(Duration::from_secs(1))));
}

#[test]
fn a_dry_run_writes_history_and_an_event() {
    let sample = Sample::new(&json!({"dryRun": true})).news("a", "p", 5, 0);
    let report = reconcile(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(status["recycleHistory"][0]["status"], "DryRun");
    assert_eq!(status["recycleHistory"][0]["eventCount"], 5);
    assert_eq!(status["eventCounts"], json!({"a": 5}));
    assert_eq!(report.events[0].reason, EventReason::WouldRecycle);
    assert_eq!(condition(&status, "Recycling")["reason"], "DryRun");
    // Later only counts change, which are stored after a pause.
    let again = reconcile(&written(sample, &status).news("a", "q", 1, 0), None);
    assert_eq!((again.events, again.status), (Vec::new(), None));
}

#[test]
fn a_recycle_that_is_over_becomes_history() {
    let mut sample = Sample::new(&json!({})).active("a");
    sample.facts.recycles[0].recycle = recycle("a", "Succeeded");
    let status = reconcile(&sample, None).status.unwrap();
    assert_eq!((&status["recycles"], &status["activeRecycles"]), (&json!([]), &json!([])));
    assert_eq!(status["recycleHistory"][0]["nodeGroup"], "a");
    assert_eq!(status["recycleHistory"][0]["status"], "Succeeded");
}

#[test]
fn an_invalid_spec_is_a_condition_and_an_event() {
    let mut sample = Sample::new(&json!({}));
    sample.facts.settings = Err(crate::recycler::error::Refusal::NothingToLookFor);
    let report = reconcile(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(condition(&status, "Ready")["status"], "False");
    assert_eq!(condition(&status, "Ready")["reason"], "InvalidConfiguration");
    assert_eq!((report.result, report.retry), (ReconcileResult::Refused, Some(Retry::OnChange)));
    assert_eq!(report.events[0].reason, EventReason::FailedValidate);
}

#[test]
fn the_sooner_retry_wins() {
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(9));
    for (one, other, both) in [
        (Retry::Again(short), Retry::Again(long), Retry::Again(short)),
        (Retry::Again(short), Retry::Backoff, Retry::Again(short)),
        (Retry::Backoff, Retry::OnChange, Retry::Backoff),
        (Retry::Soon, Retry::Again(long), Retry::Soon),
        (Retry::After(long), Retry::Again(short), Retry::Again(short)),
    ] {
        assert_eq!((sooner(one, other), sooner(other, one)), (both, both));
    }
}

#[test]
fn a_rejected_finalizer_is_an_event_where_users_can_act() {
    let snapshot = Sample::new(&json!({})).snapshot();
    let refused = |category| {
        let failure =
            Failure { category, retry: Retry::Backoff, message: "denied by x".to_owned() };
        let plan = Plan { finalizer: Some(Finalizer::Add), ..decide(&snapshot, now()) };
        let outcome = Outcome { written: Some(Err(failure)), ..Outcome::default() };
        report(&snapshot, &plan, &outcome, now())
    };
    for category in [Category::Unauthorised, Category::Unexpected] {
        let report = refused(category);
        let event = &report.events[0];
        assert_eq!(
            (event.reason, event.event_type),
            (EventReason::ReconcileError, EventType::Warning)
        );
        assert_eq!(event.note, "Cannot update the finalizer: denied by x");
        assert_eq!((report.result, report.retry), (ReconcileResult::Failed, Some(Retry::Backoff)));
    }
    assert_eq!(refused(Category::Conflict).events, []);
}

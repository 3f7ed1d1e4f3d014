//! What a pass says, case by case.

use std::collections::BTreeMap;

use machinist_domain::retry::Category;
use machinist_provider::node_groups::{Group, Sizes};
use serde_json::{Value, json};

use super::*;
use crate::recycler::decide::decide;
use crate::recycler::samples::{REGION, Sample, group, now, recycle};

/// A pass in which the groups whose recycle may begin look like this, one after the other.
fn pass_of(sample: &Sample, sights: Vec<Sight>) -> Report {
    let snapshot = sample.snapshot();
    let plan = decide(&snapshot, now());
    let steps = plan.steps.iter().map(|_| recycling::Outcome::Nothing).collect();
    let begun = plan.begin.iter().zip(sights).map(|(begin, sight)| Begun {
        begin: begin.clone(),
        sight,
        nodes: BTreeMap::new(),
        own_node: None,
    });
    let begun = begun.collect();
    let recovered = Vec::new();
    report(&snapshot, &Outcome { plan, steps, begun, recovered, finalizer: None }, now())
}

fn pass(sample: &Sample, sight: Option<Sight>) -> Report {
    pass_of(sample, vec![sight.unwrap_or(Sight::Gone)])
}

fn there(group: Group) -> Sight {
    Sight::There(Box::new(group))
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let list = status["conditions"].as_array().unwrap();
    list.iter().find(|one| one["type"] == kind).unwrap()
}

/// The sample as it is after its status was written.
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
fn a_pass_without_news_says_nothing_once_it_has_said_who_it_is() {
    let sample = Sample::new(&json!({}));
    let first = pass(&sample, None);
    let status = first.status.unwrap();
    assert_eq!(condition(&status, "Ready")["status"], "True");
    assert_eq!(condition(&status, "Recycling")["reason"], "Idle");
    let second = pass(&written(sample, &status), None);
    assert_eq!(second, Report::quiet(PassResult::Settled));
}

#[test]
fn counts_and_mark_are_said_together() {
    let sample = Sample::new(&json!({})).news("a", "p", 2, 1).unmapped("q");
    let report = pass(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(status["eventCounts"], json!({"a": 2}));
    assert_eq!(status["counting"]["mark"], "20");
    assert!(status["counting"]["groups"]["a"].as_str().unwrap().ends_with(":2"));
    assert_eq!(status["unmapped"], json!({"count": 1, "example": "pod ns/q: no node"}));
    // There is something that time alone changes.
    assert_eq!(report.retry, Some(Retry::Again(Duration::from_secs(60))));
}

#[test]
fn counts_alone_are_stored_every_other_second_at_most() {
    let sample = Sample::new(&json!({})).news("a", "p", 1, 0);
    let status = pass(&sample, None).status.unwrap();
    let sample = written(sample, &status).news("a", "q", 1, 0);
    let report = pass(&sample, None);
    assert_eq!((report.status, report.retry), (None, Some(Retry::Again(Duration::from_secs(2)))));
    // What matters more does not wait.
    let report = pass(&sample.news("a", "r", 1, 0), Some(Sight::There(Box::new(group(2)))));
    assert_eq!(report.status.unwrap()["activeRecycles"], json!(["a"]));
}

#[test]
fn a_recycle_begins_by_being_stored_and_its_group_counts_anew() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 1, 0);
    let report = pass(&sample, Some(Sight::There(Box::new(group(2)))));
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
fn a_group_that_cannot_be_recycled_says_why_and_is_looked_at_again() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0);
    for (sight, word) in
        [(Sight::Gone, "no such group"), (Sight::There(Box::new(group(0))), "no instances")]
    {
        let report = pass(&sample, Some(sight));
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
    let status = pass(&sample, Some(Sight::Gone)).status.unwrap();
    let sample = written(sample, &status);
    for (sight, events) in
        [(Sight::Gone, 0), (Sight::There(Box::new(group(0))), 1), (Sight::Gone, 0)]
    {
        let report = pass(&sample.clone().news("a", "q", 1, 0), Some(sight));
        assert_eq!(report.events.len(), events, "{:?}", report.events);
    }
}

#[test]
fn the_next_group_is_recycled_where_the_worst_is_refused() {
    let sample = Sample::new(&json!({})).news("b", "q", 8, 0).news("a", "p", 5, 0);
    let report = pass_of(&sample, vec![there(group(0)), there(group(2))]);
    let status = report.status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["a"]));
    assert_eq!(status["eventCounts"], json!({"b": 8}));
    let said = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(said.starts_with("a; b is not recycled: "), "{said}");
    let reasons: Vec<_> = report.events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, [EventReason::RecycleRefused, EventReason::RecycleBegins]);
    assert_eq!(report.retry, Some(Retry::Again(Duration::ZERO)));
}

#[test]
fn every_group_that_is_refused_says_why_and_once() {
    let sample = Sample::new(&json!({})).news("b", "q", 8, 0).news("bb", "p", 5, 0);
    let sights = || vec![Sight::Gone, Sight::Gone];
    let first = pass_of(&sample, sights());
    assert_eq!(first.events.len(), 2);
    let status = first.status.unwrap();
    let said = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(said.contains("b is not recycled") && said.contains("; bb is not recycled"), "{said}");
    let again = written(sample, &status).news("b", "q", 1, 0);
    assert!(pass_of(&again, sights()).events.is_empty());
    // What is said of one is not said of another whose name ends alike.
    let mut only = status;
    for one in only["conditions"].as_array_mut().unwrap() {
        if one["type"] == "Recycling" {
            one["message"] = json!("bb is not recycled: there is no such group");
        }
    }
    let told = pass_of(&written(again, &only).news("b", "q", 8, 0), vec![Sight::Gone]);
    assert_eq!(told.events.len(), 1, "{:?}", told.events);
}

#[test]
fn groups_of_one_name_in_two_regions_are_called_by_both() {
    let sample = Sample::new(&json!({})).news_in("us-east-1", "a", 8).news_in("eu-west-3", "a", 2);
    let status = pass(&sample, Some(there(group(0)))).status.unwrap();
    assert_eq!(status["eventCounts"], json!({"us-east-1/a": 8, "eu-west-3/a": 2}));
    let said = condition(&status, "Recycling")["message"].as_str().unwrap();
    assert!(said.starts_with("us-east-1/a is not recycled"), "{said}");
    let status = pass(&sample, Some(there(group(2)))).status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["us-east-1/a"]));
    assert_eq!(status["recycles"][0]["region"], "us-east-1");
    assert_eq!(status["recycles"][0]["group"], "a");
    assert_eq!(status["eventCounts"], json!({"eu-west-3/a": 2}), "the other one still counts");
    // What ends is history of its own region, and only its counts are forgotten.
    let mut sample = sample.active("a");
    sample.facts.recycles[0].recycle = recycle("a", "Succeeded");
    let status = pass(&sample, None).status.unwrap();
    assert_eq!(status["recycleHistory"][0]["region"], REGION);
    assert_eq!(status["eventCounts"], json!({"us-east-1/a": 8}));
}

#[test]
fn a_group_that_was_left_at_zero_is_brought_back_whatever_counts() {
    let mut plan = recycle("a", "Emptying");
    plan.strategy = machinist_api::event_recycler::spec::Strategy::ScaleToZero;
    let mark = Some(recycling::mark::write(&plan, "recycler/gone"));
    let at_zero = there(Group { sizes: Sizes::ZERO, mark, ..group(0) });
    let left = |sample: &Sample, sight: Sight| {
        let snapshot = sample.snapshot();
        let plan = decide(&snapshot, now());
        let recovered = plan.recover.iter().map(|group| (group.clone(), sight.clone())).collect();
        let steps = plan.steps.iter().map(|_| recycling::Outcome::Nothing).collect();
        let outcome = Outcome { plan, steps, begun: Vec::new(), recovered, finalizer: None };
        report(&snapshot, &outcome, now())
    };
    let unseen = |more: &Value| {
        let mut sample = Sample::new(more);
        sample.facts.unseen = vec![GroupRef::new(REGION, "a")];
        sample
    };
    let report = left(&unseen(&json!({})), at_zero.clone());
    let status = report.status.unwrap();
    assert_eq!(status["activeRecycles"], json!(["a"]));
    assert_eq!(status["recycles"][0]["step"], "Emptying");
    assert_eq!(status["recycles"][0]["original"], json!({"min": 1, "max": 4, "desired": 3}));
    assert_eq!(report.events[0].reason, EventReason::RecycleBegins);
    assert_eq!(report.retry, Some(Retry::Again(Duration::ZERO)));
    // Not where it is somebody's, nor in a dry run, nor where nothing is wrong.
    let mut elsewhere = unseen(&json!({}));
    elsewhere = elsewhere.elsewhere("a", crate::recycler::snapshot::Deed::Recycles(plan.id));
    let pretends = unseen(&json!({"dryRun": true}));
    for (sample, sight) in [
        (elsewhere, at_zero.clone()),
        (pretends, at_zero),
        (unseen(&json!({})), there(group(2))),
        (unseen(&json!({})), Sight::Gone),
    ] {
        assert_eq!(left(&sample, sight).status.unwrap().get("recycles"), None);
    }
    let failure = Failure {
        category: machinist_domain::retry::Category::Unauthorised,
        retry: Retry::Backoff,
        message: "not allowed".to_owned(),
    };
    let report = left(&unseen(&json!({})), Sight::Unknown(failure));
    let status = report.status.unwrap();
    assert_eq!(condition(&status, "Recycling")["message"], "a: not allowed");
    assert_eq!(report.retry, Some(Retry::Backoff), "it is looked at again");
}

#[test]
fn events_of_a_list_that_is_not_at_its_end_are_looked_at_in_a_moment() {
    let mut sample = Sample::new(&json!({}));
    let status = pass(&sample, None).status.unwrap();
    sample = written(sample, &status);
    assert_eq!(pass(&sample, None).retry, None);
    sample.facts.ahead = true;
    assert_eq!(pass(&sample, None).retry, Some(Retry::Again(Duration::from_secs(1))));
}

#[test]
fn what_is_only_pretended_is_history_and_an_event() {
    let sample = Sample::new(&json!({"dryRun": true})).news("a", "p", 5, 0);
    let report = pass(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(status["recycleHistory"][0]["status"], "DryRun");
    assert_eq!(status["recycleHistory"][0]["eventCount"], 5);
    assert_eq!(status["eventCounts"], json!({"a": 5}));
    assert_eq!(report.events[0].reason, EventReason::WouldRecycle);
    assert_eq!(condition(&status, "Recycling")["reason"], "DryRun");
    // What follows says nothing new but counts, which wait for a moment.
    let again = pass(&written(sample, &status).news("a", "q", 1, 0), None);
    assert_eq!((again.events, again.status), (Vec::new(), None));
}

#[test]
fn what_is_over_is_history() {
    let mut sample = Sample::new(&json!({})).active("a");
    sample.facts.recycles[0].recycle = recycle("a", "Succeeded");
    let status = pass(&sample, None).status.unwrap();
    assert_eq!((&status["recycles"], &status["activeRecycles"]), (&json!([]), &json!([])));
    assert_eq!(status["recycleHistory"][0]["nodeGroup"], "a");
    assert_eq!(status["recycleHistory"][0]["status"], "Succeeded");
}

#[test]
fn what_means_nothing_is_told_by_condition_and_event() {
    let mut sample = Sample::new(&json!({}));
    sample.facts.settings = Err(crate::recycler::error::Refusal::NothingToLookFor);
    let report = pass(&sample, None);
    let status = report.status.unwrap();
    assert_eq!(condition(&status, "Ready")["status"], "False");
    assert_eq!(condition(&status, "Ready")["reason"], "InvalidConfiguration");
    assert_eq!((report.result, report.retry), (PassResult::Refused, Some(Retry::OnChange)));
    assert_eq!(report.events[0].reason, EventReason::FailedValidate);
}

#[test]
fn the_sooner_of_two_is_when_one_comes_back() {
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
fn a_finalizer_that_is_refused_is_told_where_people_can_mend_it() {
    let snapshot = Sample::new(&json!({})).snapshot();
    let refused = |category| {
        let failure =
            Failure { category, retry: Retry::Backoff, message: "denied by x".to_owned() };
        let (plan, finalizer) = (decide(&snapshot, now()), Some(Err(failure)));
        let (steps, begun, recovered) = (Vec::new(), Vec::new(), Vec::new());
        report(&snapshot, &Outcome { plan, steps, begun, recovered, finalizer }, now())
    };
    for category in [Category::Unauthorised, Category::Unexpected] {
        let report = refused(category);
        let event = &report.events[0];
        assert_eq!(
            (event.reason, event.event_type),
            (EventReason::ReconcileError, EventType::Warning)
        );
        assert_eq!(event.note, "the finalizer could not be written: denied by x");
        assert_eq!((report.result, report.retry), (PassResult::Failed, Some(Retry::Backoff)));
    }
    assert_eq!(refused(Category::Conflict).events, []);
}

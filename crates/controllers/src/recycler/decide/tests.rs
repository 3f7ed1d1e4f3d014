use machinist_domain::key::Version;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::node_groups::Group;
use serde_json::json;

use super::*;
use crate::recycler::detection::counting::Counting;
use crate::recycler::error::Refusal;
use crate::recycler::recycling::GroupState;
use crate::recycler::samples::{REGION, Sample, ago, group, now};

fn begins(sample: &Sample) -> Option<(String, u64)> {
    let plan = decide(&sample.snapshot(), now());
    plan.candidates.first().map(|begin| {
        assert_eq!(&*begin.group.region, REGION);
        (begin.group.name.to_string(), begin.events)
    })
}

fn held(sample: &Sample) -> Vec<(String, Hold)> {
    let plan = decide(&sample.snapshot(), now());
    plan.held.into_iter().map(|(group, hold)| (group.name.to_string(), hold)).collect()
}

#[test]
fn a_recycle_begins_at_the_threshold_and_not_before() {
    let sample = Sample::new(&json!({}));
    assert_eq!(begins(&sample), None);
    let sample = sample.news("a", "p", 2, 1);
    assert_eq!(begins(&sample), None);
    assert_eq!(begins(&sample.news("a", "p", 1, 0)), Some(("a".to_owned(), 3)));
}

#[test]
fn only_the_window_counts() {
    let sample = Sample::new(&json!({"window": "5m"})).news("a", "p", 2, 1);
    assert_eq!(begins(&sample.clone().news("a", "p", 5, 7)), None);
    assert_eq!(begins(&sample.news("a", "p", 5, 4)), Some(("a".to_owned(), 7)));
}

#[test]
fn stored_and_new_occurrences_count_together() {
    let mut sample = Sample::new(&json!({})).news("a", "p", 2, 2);
    let stored = decide(&sample.snapshot(), now()).counted.unwrap().counting;
    assert_eq!(stored.mark, Version(20));
    sample.facts.counting = stored;
    sample.facts.news.clear();
    assert_eq!(begins(&sample.news("a", "q", 1, 0)), Some(("a".to_owned(), 3)));
}

#[test]
fn pods_and_nodes_count_once_each() {
    let pods =
        |by: &str| Sample::new(&json!({ "countBy": by })).news("a", "p", 9, 0).news("a", "q", 9, 1);
    for by in ["Pods", "Nodes"] {
        assert_eq!(begins(&pods(by)), None, "{by}");
        assert_eq!(begins(&pods(by).news("a", "r", 1, 0)), Some(("a".to_owned(), 3)), "{by}");
    }
}

#[test]
fn by_default_nodes_count_however_often_their_events_happen() {
    let sample = Sample::new(&json!({ "countBy": null }));
    let sample = sample.news("a", "p", 1000, 0).news("a", "p", 1000, 1).news("a", "q", 1000, 0);
    assert_eq!(begins(&sample), None);
    assert_eq!(begins(&sample.news("a", "r", 1, 0)), Some(("a".to_owned(), 3)));
}

#[test]
fn where_events_count_one_object_does_so_a_few_times_only() {
    let sample = Sample::new(&json!({"maxPerObject": 2}));
    let forged = sample.news("a", "p", 1000, 0).news("a", "p", 2, 3).news("a", "p", 1, 5);
    assert_eq!(begins(&forged), None);
    // It is read by another leader, and counts again.
    let mut stored = forged.clone();
    let counting = decide(&forged.snapshot(), now()).counted.unwrap().counting;
    stored.facts.counting = Counting::read(Some(&counting.write()));
    assert_eq!(stored.facts.counting, counting);
    assert_eq!(begins(&stored), None);
    assert_eq!(begins(&forged.clone().news("a", "q", 1, 0)), Some(("a".to_owned(), 3)));
    let usual = Sample::new(&json!({"threshold": 11})).news("a", "p", 1000, 0);
    assert_eq!(begins(&usual), None);
    assert_eq!(begins(&usual.news("a", "q", 1, 0)), Some(("a".to_owned(), 11)));
}

#[test]
fn the_group_with_the_most_events_is_first() {
    let sample = Sample::new(&json!({}));
    let sample = sample.news("a", "p", 3, 0).news("b", "q", 8, 0).news("c", "r", 8, 0);
    let order = |sample: &Sample| -> Vec<String> {
        let candidates = decide(&sample.snapshot(), now()).candidates;
        candidates.iter().map(|begin| begin.group.name.to_string()).collect()
    };
    assert_eq!(order(&sample), ["b", "c", "a"]);
    assert!(held(&sample).is_empty());
    // A group that is held does not block others.
    assert_eq!(order(&sample.past("b", "Failed", 1)), ["c", "a"]);
}

#[test]
fn groups_of_one_name_in_two_regions_are_two_groups() {
    let sample = Sample::new(&json!({"maxConcurrent": 9}));
    let here = sample.clone().news("a", "p", 2, 0).news_in("us-east-1", "a", 2);
    assert_eq!(begins(&here), None, "neither has three");
    let far = sample.news_in("us-east-1", "a", 3).news("a", "p", 2, 0);
    let plan = decide(&far.snapshot(), now());
    assert_eq!(plan.candidates.len(), 1);
    assert_eq!(plan.candidates[0].group, GroupRef::new("us-east-1", "a"));
    let counts: Vec<_> = plan.counted.unwrap().counts.into_values().collect();
    assert_eq!(counts, [2, 3]);
    // What is done to the one here is not done to the one there.
    for busy in [
        far.clone().past("a", "Succeeded", 5),
        far.clone().active("a"),
        far.clone().recycled_elsewhere("a", "x"),
        far.elsewhere(&Sample::new(&json!({})).past("a", "Succeeded", 5)),
    ] {
        let busy = busy.news("a", "p", 9, 0);
        let plan = decide(&busy.snapshot(), now());
        assert_eq!(plan.candidates.len(), 1, "{plan}");
        assert_eq!(&*plan.candidates[0].group.region, "us-east-1");
        assert_eq!(plan.held.len(), 1, "{plan}");
    }
}

#[test]
fn unchecked_groups_are_described_unless_nothing_may_be_done() {
    let unseen = |more: &serde_json::Value| {
        let mut sample = Sample::new(more);
        sample.facts.unchecked = vec![GroupRef::new(REGION, "a")];
        sample
    };
    let looks = |sample: &Sample| !decide(&sample.snapshot(), now()).describe.is_empty();
    assert!(looks(&unseen(&json!({}))));
    assert!(!looks(&unseen(&json!({"dryRun": true}))));
    let mut going = unseen(&json!({}));
    going.meta.deleting = true;
    assert!(!looks(&going));
}

#[test]
fn a_group_is_held_during_its_cool_down() {
    let sample = Sample::new(&json!({"coolDown": "30m"})).news("a", "p", 5, 0);
    for (status, minutes, left) in
        [("Succeeded", 29, true), ("Failed", 29, true), ("Succeeded", 31, false)]
    {
        let sample = sample.clone().past("a", status, minutes);
        assert_eq!(begins(&sample).is_none(), left, "{status} {minutes}");
    }
    assert!(begins(&sample.clone().past("b", "Succeeded", 1)).is_some());
    let until = ago(10) + jiff::SignedDuration::from_mins(30);
    let hold = held(&sample.past("a", "Succeeded", 10));
    assert_eq!(hold, [("a".to_owned(), Hold::CoolDown(until))]);
}

#[test]
fn recycles_of_other_event_recyclers_hold_a_group() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0);
    let recycles = sample.clone().recycled_elsewhere("a", "x");
    assert_eq!(held(&recycles), [("a".to_owned(), Hold::Elsewhere("other".into()))]);
    assert_eq!(
        begins(&sample.clone().elsewhere(&Sample::new(&json!({})).past("a", "Succeeded", 5))),
        None
    );
    assert!(
        begins(&sample.clone().elsewhere(&Sample::new(&json!({})).past("a", "Succeeded", 100)))
            .is_some()
    );
    assert!(begins(&sample.recycled_elsewhere("b", "x")).is_some());
}

#[test]
fn no_more_recycles_than_max_concurrent() {
    let sample = Sample::new(&json!({})).active("b").news("a", "p", 5, 0);
    assert_eq!(held(&sample), [("a".to_owned(), Hold::Concurrency)]);
    let sample = Sample::new(&json!({"maxConcurrent": 2})).active("b").news("a", "p", 5, 0);
    assert!(begins(&sample).is_some());
    let sample = sample.active("a");
    assert_eq!(held(&sample), [("a".to_owned(), Hold::Active)]);
}

#[test]
fn a_recycle_begins_when_the_schedule_allows() {
    let at = |from: &str, to: &str| {
        Sample::new(&json!({"schedule": {"from": from, "to": to}})).news("a", "p", 5, 0)
    };
    assert!(begins(&at("01:00", "03:00")).is_some());
    let next = "2026-11-16T03:00:00Z".parse().unwrap();
    assert_eq!(held(&at("03:00", "04:00")), [("a".to_owned(), Hold::Schedule(Some(next)))]);
}

#[test]
fn a_dry_run_pretends_once_per_cool_down() {
    let sample = Sample::new(&json!({"dryRun": true})).news("a", "p", 5, 0).news("b", "q", 5, 0);
    let plan = decide(&sample.snapshot(), now());
    assert_eq!((plan.candidates.len(), plan.pretend.len()), (0, 2));
    let recorded = sample.past("a", "DryRun", 5).past("b", "DryRun", 5);
    assert!(decide(&recorded.snapshot(), now()).pretend.is_empty());
    let earnest = Sample::new(&json!({})).news("a", "p", 5, 0).past("a", "DryRun", 5);
    assert!(begins(&earnest).is_some());
}

#[test]
fn open_occurrences_are_kept_and_count_once_they_have_a_group() {
    let mut sample = Sample::new(&json!({})).unmapped("p").unmapped("p").unmapped("q");
    let plan = decide(&sample.snapshot(), now());
    let counted = plan.counted.unwrap();
    assert_eq!((counted.counting.open.len(), counted.counting.unmapped()), (2, 3));
    assert!(counted.counts.is_empty());
    assert_eq!(counted.example.as_deref(), Some("pod ns/q: no node"));
    sample.facts.news.clear();
    sample.facts.reopened = counted
        .counting
        .open
        .iter()
        .cloned()
        .map(|occurrence| Located {
            occurrence,
            node: Some("n".into()),
            target: Target::Group(GroupRef::new(REGION, "a")),
        })
        .collect();
    sample.facts.counting = counted.counting;
    assert_eq!(begins(&sample), Some(("a".to_owned(), 3)));
    let after = decide(&sample.snapshot(), now()).counted.unwrap();
    assert!(after.counting.open.is_empty());
}

#[test]
fn the_mark_stays_where_nothing_counts() {
    let mut sample = Sample::new(&json!({}));
    let mark = |sample: &Sample| decide(&sample.snapshot(), now()).counted.unwrap().counting.mark;
    assert_eq!(mark(&sample), Version(10));
    assert_eq!(mark(&sample.clone().news("a", "p", 1, 0)), Version(20));
    // Where the cluster was restored, it went back.
    sample.facts.counting.mark = Version(99);
    assert_eq!(mark(&sample), Version(20));
    // The first look says from where on.
    sample.facts.counting.mark = Version(0);
    assert_eq!(mark(&sample), Version(20));
}

#[test]
fn an_invalid_spec_counts_nothing_and_recycles_continue() {
    let mut sample = Sample::new(&json!({})).active("b").news("a", "p", 9, 0);
    let refusal = Refusal::Duration { field: "window", text: "abc".to_owned() };
    sample.facts.settings = Err(refusal.clone());
    let plan = decide(&sample.snapshot(), now());
    assert_eq!((plan.refusal, plan.steps.len()), (Some(refusal), 1));
    assert!(plan.candidates.is_empty() && plan.counted.is_none());
}

#[test]
fn the_finalizer_is_added_before_a_recycle_and_removed_after_it() {
    let finalizer = |sample: &Sample| decide(&sample.snapshot(), now()).finalizer;
    let mut without = Sample::new(&json!({}));
    without.facts.finalizers = ["example.com/other".to_owned()].into();
    assert_eq!(finalizer(&without), None);
    let begins = without.clone().news("a", "p", 5, 0);
    assert_eq!(finalizer(&begins), Some(Finalizer::Add));
    assert_eq!(finalizer(&without.clone().active("a")), Some(Finalizer::Add));
    let mut going = without.active("a");
    going.meta.deleting = true;
    assert_eq!(finalizer(&going), None);
    let with = Sample::new(&json!({}));
    assert_eq!(finalizer(&with), Some(Finalizer::Remove));
    assert_eq!(finalizer(&with.clone().active("a")), None);
    assert_eq!(finalizer(&with.news("a", "p", 5, 0)), None);
}

#[test]
fn nothing_begins_for_what_is_being_deleted() {
    let mut sample = Sample::new(&json!({})).news("a", "p", 9, 0);
    sample.meta.deleting = true;
    assert_eq!(begins(&sample), None);
}

#[test]
fn a_plan_shows_what_follows_the_finalizer() {
    let mut sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 4, 0);
    sample.facts.finalizers = Box::default();
    let printed = decide(&sample.snapshot(), now()).to_string();
    let all = "add the finalizer; then recycle eu-west-3/a for 5 events once it is described; \
               recycle eu-west-3/b for 4 events once it is described; begin no recycle";
    assert_eq!(printed, all);
}

#[test]
fn a_deleted_dry_run_has_no_finalizer() {
    let mut sample =
        Sample::new(&json!({"dryRun": true})).news("a", "p", 5, 0).past("a", "DryRun", 5);
    sample.meta.deleting = true;
    let plan = decide(&sample.snapshot(), now());
    assert_eq!(plan.finalizer, Some(Finalizer::Remove));
    assert!(
        plan.steps.is_empty() && plan.candidates.is_empty() && plan.pretend.is_empty(),
        "{plan}"
    );
}

fn present(group: Group) -> GroupState {
    Observed::Present(Box::new(group))
}

fn unreachable() -> GroupState {
    Observed::Unknown(Failure {
        category: Category::Unauthorised,
        retry: Retry::Backoff,
        message: "not allowed".to_owned(),
    })
}

/// The groups to describe, the group whose recycle begins, and those that are blocked.
fn next(sample: &Sample) -> (Vec<String>, Option<String>, Vec<String>) {
    let plan = decide(&sample.snapshot(), now());
    let describe = plan.describe.iter().map(ToString::to_string).collect();
    let blocked = plan.blocked.iter().map(|(group, by)| format!("{} {}", group.name, by.reason()));
    (describe, plan.begin.map(|recycle| recycle.group), blocked.collect())
}

#[test]
fn groups_are_described_before_a_recycle_begins() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 8, 0);
    let both = vec!["eu-west-3/b".to_owned(), "eu-west-3/a".to_owned()];
    assert_eq!(next(&sample), (both, None, Vec::new()));
    let one = sample.clone().described(REGION, "a", present(group(2)));
    assert_eq!(next(&one), (vec!["eu-west-3/b".to_owned()], None, Vec::new()));
    let two = one.described(REGION, "b", present(group(2)));
    assert_eq!(next(&two), (Vec::new(), Some("b".to_owned()), Vec::new()));
}

#[test]
fn the_next_group_is_recycled_where_the_first_is_refused() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 8, 0);
    for (state, reason) in [(present(group(0)), "b Empty"), (Observed::Absent, "b NotFound")] {
        let sample = sample.clone().described(REGION, "b", state);
        let sample = sample.described(REGION, "a", present(group(2)));
        assert_eq!(next(&sample), (Vec::new(), Some("a".to_owned()), vec![reason.to_owned()]));
    }
}

#[test]
fn a_region_that_cannot_be_reached_for_one_group_is_not_tried_for_the_next() {
    let sample = Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 8, 0);
    let sample = sample.news_in("us-east-1", "c", 3).described(REGION, "b", unreachable());
    let blocked = vec!["b Unreachable".to_owned()];
    assert_eq!(next(&sample), (vec!["us-east-1/c".to_owned()], None, blocked.clone()));
    let sample = sample.described("us-east-1", "c", present(group(2)));
    assert_eq!(next(&sample), (Vec::new(), Some("c".to_owned()), blocked));
}

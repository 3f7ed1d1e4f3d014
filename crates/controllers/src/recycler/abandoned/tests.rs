use machinist_api::event_recycler::status;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_domain::key::Version;
use machinist_domain::meta::Meta;
use serde_json::json;

use super::super::samples::{REGION, group, now, recycle};
use super::super::{recycling, settings};
use super::*;

fn recycler(uid: &str, generation: i64, counts: bool) -> EventRecycler {
    let status = EventRecyclerStatus {
        counting: counts.then(status::Counting::default),
        ..EventRecyclerStatus::default()
    };
    EventRecycler {
        freeze: None,
        meta: Meta {
            key: ObjectKey::new("", "er"),
            uid: Uid(uid.into()),
            version: Version(1),
            deleting: false,
        },
        generation,
        finalizers: Box::default(),
        spec: None,
        status: Arc::new(status),
    }
}

fn workers() -> BTreeSet<GroupRef> {
    [GroupRef::new(REGION, "workers")].into()
}

#[test]
fn every_group_is_looked_at_once_until_the_object_or_its_status_is_another() {
    let abandoned = AbandonedGroups::default();
    let key = ObjectKey::new("", "er");
    let unseen =
        |recycler: &EventRecycler| abandoned.unchecked(recycler, workers(), |_| false).len();
    let first = recycler("u1", 1, true);
    assert_eq!((unseen(&first), unseen(&first)), (1, 1), "not checked yet");
    for next in [
        recycler("u1", 1, true),
        recycler("u1", 2, true),
        recycler("u2", 2, false),
        recycler("u2", 2, true),
    ] {
        let is_same = next.meta.uid == Uid("u2".into()) && next.status.counting.is_some();
        assert_eq!(unseen(&next), usize::from(!is_same), "{next:?}");
        abandoned.unchecked(&next, workers(), |_| true);
        assert_eq!(unseen(&next), 0);
    }
    assert_eq!(unseen(&recycler("u2", 2, false)), 1, "its status was lost");
    abandoned.unchecked(&recycler("u2", 2, false), workers(), |_| true);
    abandoned.forget(&key);
    assert_eq!(unseen(&recycler("u2", 2, false)), 1);
}

#[test]
fn a_group_that_is_fine_counts_as_checked() {
    let abandoned = AbandonedGroups::default();
    let recycler = recycler("u1", 1, true);
    assert!(abandoned.unchecked(&recycler, workers(), |_| true).is_empty());
    assert!(abandoned.unchecked(&recycler, workers(), |_| false).is_empty());
}

#[test]
fn groups_are_named_by_the_spec_and_by_the_history() {
    let read = |spec| settings::Settings::read(Some(&serde_json::from_value(spec).unwrap()));
    let entry = |name: &str, region: Option<&str>, result: &str| PastRecycle {
        node_group: Some(name.to_owned()),
        region: region.map(str::to_owned),
        status: Some(result.to_owned()),
        ..PastRecycle::default()
    };
    let history = vec![
        entry("old", None, "Succeeded"),
        entry("far", Some("us-east-1"), "Failed"),
        entry("pretended", None, "DryRun"),
    ];
    let status =
        EventRecyclerStatus { recycle_history: Some(history), ..EventRecyclerStatus::default() };
    let all = |spec, region: Option<&str>| -> Vec<String> {
        let region = region.map(Arc::from);
        let groups = named(&read(spec).unwrap(), &status, region.as_ref());
        groups.iter().map(ToString::to_string).collect()
    };
    let any = json!({"searchTerms": ["x"]});
    assert_eq!(all(any.clone(), Some("r")), ["r/old", "us-east-1/far"]);
    assert_eq!(all(any, None), ["us-east-1/far"], "no default region");
    let some = json!({"searchTerms": ["x"], "nodeGroups": {"names": ["a", "old"]}});
    assert_eq!(all(some.clone(), Some("r")), ["r/a", "r/old"]);
    let mut far = some;
    far["awsRegion"] = json!("us-east-1");
    assert_eq!(all(far, Some("r")), ["us-east-1/a", "us-east-1/old"]);
}

#[test]
fn only_what_a_recycler_has_set_to_zero_is_brought_back_and_nothing_is_made_smaller() {
    let plan = Recycle { strategy: Strategy::ScaleToZero, ..recycle("a", "Emptying") };
    let text = recycling::mark::write(&plan, "recycler/gone");
    let zero = Group { sizes: Sizes::ZERO, mark: Some(text.clone()), ..group(0) };
    let mark = left_at_zero(&zero).unwrap();
    let resumed = resume(&mark, &GroupRef::new(REGION, "a"), now());
    assert_eq!((resumed.step, resumed.original), (Step::Emptying, plan.original));
    assert_eq!((resumed.id, resumed.step_since), (plan.id.clone(), now()));
    let by_hand = recycling::mark::write(&plan, "by-hand/me");
    let replaces = recycling::mark::write(&recycle("a", "Replacing"), "recycler/gone");
    for other in [
        Group { sizes: Sizes { min: 0, max: 1, desired: 0 }, ..zero.clone() },
        Group { mark: None, ..zero.clone() },
        Group { mark: Some(by_hand), ..zero.clone() },
        Group { mark: Some(replaces), ..zero.clone() },
        Group { deleting: true, ..zero },
    ] {
        assert_eq!(left_at_zero(&other), None, "{other:?}");
    }
}

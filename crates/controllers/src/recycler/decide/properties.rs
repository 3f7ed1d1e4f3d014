use std::collections::BTreeMap;

use machinist_domain::key::Version;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::recycler::detection::counting::{Counting, MOST_OPEN};
use crate::recycler::samples::{REGION, Sample, news, now};

#[derive(Debug, Clone)]
struct Happening {
    group: u8,
    pod: u8,
    times: u32,
    minutes: i64,
}

fn happening() -> impl Strategy<Value = Happening> {
    (0u8..4, 0u8..6, 1u32..6, 0i64..30).prop_map(|(group, pod, times, minutes)| Happening {
        group,
        pod,
        times,
        minutes,
    })
}

fn with(sample: Sample, happenings: &[Happening]) -> Sample {
    happenings.iter().fold(sample, |sample, one| {
        sample.news(&format!("g{}", one.group), &format!("p{}", one.pod), one.times, one.minutes)
    })
}

proptest! {
    #[test]
    fn counting_in_pieces_is_counting_at_once(
        list in prop::collection::vec(happening(), 0..40), cuts in prop::collection::vec(any::<bool>(), 40),
        by in prop::sample::select(vec!["Events", "Pods", "Nodes"]),
    ) {
        let sample = Sample::new(&json!({ "countBy": by }));
        let at_once = decide(&with(sample.clone(), &list).snapshot(), now()).counted.unwrap();
        let mut piecewise = sample;
        for (one, cut) in list.iter().zip(cuts) {
            piecewise = with(piecewise, std::slice::from_ref(one));
            if cut {
                // Stored, and read by the next leader.
                let counted = decide(&piecewise.snapshot(), now()).counted.unwrap();
                piecewise.facts.counting = Counting::read(Some(&counted.counting.write()));
                piecewise.facts.news.clear();
            }
        }
        let counted = decide(&piecewise.snapshot(), now()).counted.unwrap();
        prop_assert_eq!(counted.counts, at_once.counts);
        prop_assert_eq!(counted.counting.groups, at_once.counting.groups);
    }

    #[test]
    fn a_group_that_reached_the_threshold_is_a_candidate_or_held(
        list in prop::collection::vec(happening(), 0..40), threshold in 1u64..12, concurrent in 1usize..4,
        active in prop::collection::btree_set(0u8..4, 0..3), cooling in prop::collection::btree_set(0u8..4, 0..3),
    ) {
        let spec = json!({"threshold": threshold, "maxConcurrent": concurrent});
        let mut sample = with(Sample::new(&spec), &list);
        for group in &active {
            sample = sample.active(&format!("g{group}"));
        }
        for group in &cooling {
            sample = sample.past(&format!("g{group}"), "Succeeded", 10);
        }
        let plan = decide(&sample.snapshot(), now());
        let counts = plan.counted.clone().unwrap().counts;
        let held: BTreeMap<_, _> = plan.held.iter().cloned().collect();
        for (group, count) in &counts {
            let begins = plan.candidates.iter().any(|one| one.group == *group);
            prop_assert_eq!(begins || held.contains_key(group), *count >= threshold, "{}", group);
            prop_assert!(!(begins && held.contains_key(group)));
        }
        prop_assert!(plan.candidates.is_sorted_by_key(|one| std::cmp::Reverse(one.events)));
        for begin in &plan.candidates {
            let number: u8 = begin.group.name.0[1..].parse().unwrap();
            prop_assert!(!active.contains(&number) && !cooling.contains(&number));
            prop_assert!(active.len() < concurrent);
            prop_assert_eq!(Some(&begin.events), counts.get(&begin.group));
        }
    }

    #[test]
    fn stored_counts_are_bounded_and_read_back(
        list in prop::collection::vec(happening(), 0..60), open in 0usize..600,
    ) {
        let mut sample = with(Sample::new(&json!({"countBy": "Pods"})), &list);
        for number in 0..open {
            sample = sample.unmapped(&format!("u{number}"));
        }
        let counting = decide(&sample.snapshot(), now()).counted.unwrap().counting;
        prop_assert!(counting.open.len() <= MOST_OPEN);
        prop_assert_eq!(Counting::read(Some(&counting.write())), counting);
    }

    #[test]
    fn deciding_again_changes_nothing(list in prop::collection::vec(happening(), 0..40)) {
        let mut sample = with(Sample::new(&json!({"threshold": 1000})), &list);
        let first = decide(&sample.snapshot(), now()).counted.unwrap();
        sample.facts.counting = first.counting.clone();
        sample.facts.news.clear();
        sample.facts.position = Version(30);
        let second = decide(&sample.snapshot(), now()).counted.unwrap();
        prop_assert_eq!(second.counting, first.counting);
    }
}

#[test]
fn counts_shrink_with_time() {
    let mut sample = Sample::new(&json!({}));
    sample.facts.news = (0..10).map(|minutes| news("g", "p", 1, minutes)).collect();
    let mut last = u64::MAX;
    for minutes in 0..15 {
        let later = now() + jiff::SignedDuration::from_mins(minutes);
        let counts = decide(&sample.snapshot(), later).counted.unwrap().counts;
        let count = counts.get(&GroupRef::new(REGION, "g")).copied().unwrap_or_default();
        assert!(count <= last);
        last = count;
    }
    assert_eq!(last, 0);
}

//! Compared with a list of every single occurrence.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::spec::CountBy;
use proptest::prelude::*;

use super::*;

/// When, how often, to which object.
type Happening = (i64, u64, u32);

const BASE: i64 = 1_790_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn tally(window: Window, happenings: &[Happening]) -> Tally {
    let mut tally = Tally::default();
    for (second, times, subject) in happenings {
        tally.add(window, minute_of(at(*second)), *times, Some(*subject));
    }
    tally
}

fn since(happenings: &[Happening], now: i64, seconds: i64) -> u64 {
    happenings.iter().filter(|one| one.0 > now - seconds).map(|one| one.1).sum()
}

#[test]
fn a_bucket_is_a_minute_unless_the_window_is_long() {
    for (seconds, width) in [(1, 1), (600, 1), (3600, 1), (3601, 2), (86_400, 24)] {
        assert_eq!(Window::new(Duration::from_secs(seconds)).width(), width, "{seconds}");
    }
    assert!(Window::new(Duration::MAX).has(minute_of(at(0)), at(BASE)));
}

#[test]
fn occurrences_count_for_the_window_and_one_bucket_longer_at_most() {
    let window = Window::new(Duration::from_secs(600));
    let tally = tally(window, &[(BASE, 3, 1)]);
    let count = |seconds: i64| tally.count(window, CountBy::Events, at(BASE + seconds));
    assert_eq!((count(0), count(599), count(660)), (3, 3, 0));
}

#[test]
fn four_now_and_three_a_minute_later_are_seven() {
    let window = Window::new(Duration::from_secs(600));
    let tally = tally(window, &[(BASE, 4, 1), (BASE + 60, 3, 1)]);
    assert_eq!(tally.count(window, CountBy::Events, at(BASE + 61)), 7);
    assert_eq!(tally.count(window, CountBy::Pods, at(BASE + 61)), 1);
}

#[test]
fn invalid_tallies_are_rejected() {
    for text in ["x", "1", "1:", "1:x", "1:2:", "1:2:g", "1:2:3:4", "1:2 x", "1:-1"] {
        assert_eq!(Tally::read(text), None, "{text}");
    }
    assert_eq!(Tally::read(""), Some(Tally::default()));
}

#[test]
fn a_subject_is_in_its_newest_bucket_alone_and_counts_as_if_it_were_in_all() {
    let window = Window::new(Duration::from_secs(600));
    let happenings = [(BASE, 1, 7), (BASE + 60, 2, 7), (BASE + 120, 1, 8), (BASE, 1, 8)];
    let tally = tally(window, &happenings);
    let first = minute_of(at(BASE));
    assert_eq!(tally.to_string(), format!("{first}:2 {}:2:7 {}:1:8", first + 1, first + 2));
    let count = |seconds| tally.count(window, CountBy::Pods, at(BASE + seconds));
    assert_eq!((count(120), count(700), count(800)), (2, 1, 0));
}

#[test]
fn of_too_many_subjects_the_newest_stay() {
    let window = Window::new(Duration::from_secs(600));
    let most = u32::try_from(MOST_SUBJECTS).unwrap();
    let old = (0..most).map(|subject| (BASE, 1, subject));
    let new = (most..most + 10).map(|subject| (BASE + 60, 1, subject));
    let tally = tally(window, &old.chain(new).collect::<Vec<_>>());
    let count = |seconds| tally.count(window, CountBy::Pods, at(BASE + seconds));
    assert_eq!((count(60), count(660)), (u64::from(most), 10));
}

#[test]
fn an_unbounded_stored_tally_is_read_within_the_bound() {
    let subjects = |from: u32| -> Vec<_> {
        (from..from + 900).map(|subject| format!("{subject:x}")).collect()
    };
    let text = format!("1:900:{} 2:900:{}", subjects(0).join(","), subjects(500).join(","));
    let tally = Tally::read(&text).unwrap();
    let kept: Vec<_> = tally.buckets.values().map(|bucket| bucket.subjects.len()).collect();
    assert_eq!(kept, [100, 900]);
    assert!(tally.to_string().len() <= tally.longest_text());
}

#[test]
fn tallies_with_the_lowest_counts_are_dropped_first() {
    let window = Window::new(Duration::from_secs(600));
    let mut tallies: BTreeMap<_, _> = [("a", 3), ("b", 1), ("c", 2)]
        .map(|(name, times)| (name, tally(window, &[(BASE, times, 1)])))
        .into();
    let one = tallies["a"].longest_text() + 10;
    let count = |tally: &Tally| tally.count(window, CountBy::Events, at(BASE));
    for (most, left) in [(3 * one, "abc"), (3 * one - 1, "ac"), (one, "a"), (one - 1, "")] {
        bound(&mut tallies, most, |_| 10, count);
        assert_eq!(tallies.keys().copied().collect::<String>(), left, "{most}");
    }
}

fn anything() -> impl Strategy<Value = Vec<(u8, i64, u64, Option<u32>)>> {
    let minute = prop_oneof![any::<i64>(), 29_000_000..29_000_200i64];
    let subject = prop::option::of(prop_oneof![any::<u32>(), 0..9u32]);
    prop::collection::vec((0u8..12, minute, any::<u64>(), subject), 0..300)
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec((BASE - 20_000..BASE + 1, 0u64..50, 0u32..20), 0..60)
}

proptest! {
    #[test]
    fn the_count_lies_between_the_window_and_one_bucket_more(
        list in happenings(), seconds in 1u64..20_000, later in 0i64..5_000,
    ) {
        let window = Window::new(Duration::from_secs(seconds));
        let (now, length) = (BASE + later, i64::try_from(seconds).unwrap());
        let count = tally(window, &list).count(window, CountBy::Events, at(now));
        prop_assert!(count >= since(&list, now, length));
        prop_assert!(count <= since(&list, now, length + window.width() * 60));
    }

    #[test]
    fn the_order_does_not_matter(list in happenings(), seed in any::<u64>()) {
        let window = Window::new(Duration::from_secs(600));
        let mut shuffled = list.clone();
        shuffled.sort_by_key(|one| one.0.unsigned_abs().wrapping_mul(seed | 1));
        prop_assert_eq!(tally(window, &list), tally(window, &shuffled));
    }

    #[test]
    fn expired_buckets_do_not_count_and_few_are_left(
        list in happenings(), seconds in 1u64..20_000, later in 0i64..5_000,
    ) {
        let (window, now) = (Window::new(Duration::from_secs(seconds)), at(BASE + later));
        let mut tally = tally(window, &list);
        let before = tally.count(window, CountBy::Events, now);
        tally.expire(window, now);
        prop_assert_eq!(tally.count(window, CountBy::Events, now), before);
        prop_assert!(i64::try_from(tally.buckets.len()).unwrap() <= MOST_BUCKETS + 1);
    }

    #[test]
    fn stored_tallies_are_bounded(
        list in anything(), seconds in 1u64..2_000_000, crowd in 0u32..1_500, most in 0usize..40_000,
    ) {
        let window = Window::new(Duration::from_secs(seconds));
        let mut tallies = BTreeMap::<u8, Tally>::new();
        for (group, minute, times, subject) in list {
            let minute = minute.clamp(i64::MIN / 2, i64::MAX / 2);
            tallies.entry(group).or_default().add(window, minute, times, subject);
        }
        for subject in 0..crowd {
            let minute = 29_000_000 + i64::from(subject % 70);
            tallies.entry(0).or_default().add(window, minute, 1, Some(subject.rotate_right(4)));
        }
        let largest = usize::try_from(MOST_BUCKETS + 1).unwrap() * 42 + MOST_SUBJECTS * 9;
        for tally in tallies.values() {
            prop_assert!(tally.to_string().len() <= tally.longest_text());
            prop_assert!(tally.longest_text() <= largest);
            prop_assert_eq!(&Tally::read(&tally.to_string()).unwrap(), tally);
        }
        bound(&mut tallies, most, |_| 1, |tally| tally.longest_text() as u64);
        let stored: usize = tallies.values().map(|tally| tally.to_string().len() + 1).sum();
        prop_assert!(stored <= most);
    }

    #[test]
    fn counts_never_grow_with_time_alone(list in happenings(), first in 0i64..3_000, more in 0i64..3_000) {
        let window = Window::new(Duration::from_secs(900));
        let tally = tally(window, &list);
        for by in [CountBy::Events, CountBy::Pods] {
            let earlier = tally.count(window, by, at(BASE + first));
            prop_assert!(tally.count(window, by, at(BASE + first + more)) <= earlier);
        }
    }

    #[test]
    fn subjects_are_counted_once_each(list in happenings()) {
        let window = Window::new(Duration::from_secs(100_000));
        let subjects: BTreeSet<_> = list.iter().filter(|one| one.1 > 0).map(|one| one.2).collect();
        let count = tally(window, &list).count(window, CountBy::Pods, at(BASE));
        prop_assert_eq!(count, subjects.len() as u64);
    }

    #[test]
    fn stored_tallies_are_read_back(list in happenings(), seconds in 1u64..20_000) {
        let tally = tally(Window::new(Duration::from_secs(seconds)), &list);
        prop_assert_eq!(Tally::read(&tally.to_string()), Some(tally));
    }
}

//! Compared with a list of every single occurrence.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

/// When, how often, to which object.
type Happening = (i64, u32, u32);

const BASE: i64 = 1_790_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn tally(window: Window, happenings: &[Happening], per_subject: u32) -> Tally {
    let mut tally = Tally::default();
    for (second, times, subject) in happenings {
        tally.add(window, minute_of(at(*second)), *times, *subject, per_subject);
    }
    tally
}

fn since(happenings: &[Happening], now: i64, seconds: i64, per_subject: u32) -> u64 {
    let mut subjects = BTreeMap::<u32, u32>::new();
    for (_, times, subject) in happenings.iter().filter(|one| one.0 > now - seconds) {
        *subjects.entry(*subject).or_default() += times;
    }
    subjects.into_values().map(|times| u64::from(times.min(per_subject))).sum()
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
    let tally = tally(window, &[(BASE, 3, 1)], 5);
    let count = |seconds: i64| tally.count(window, at(BASE + seconds));
    assert_eq!((count(0), count(599), count(660)), (3, 3, 0));
}

#[test]
fn four_now_and_three_a_minute_later_are_seven() {
    let window = Window::new(Duration::from_secs(600));
    for (per_subject, count) in [(10, 7), (6, 6), (1, 1)] {
        let tally = tally(window, &[(BASE, 4, 1), (BASE + 60, 3, 1)], per_subject);
        assert_eq!(tally.count(window, at(BASE + 61)), count);
    }
}

#[test]
fn invalid_tallies_are_rejected() {
    for text in ["x", "1", "1:", "1:x", "1:2:", "1:2*", "1:2*0", "1:2*x", "1:2,", "1:2 x", "1:-1"] {
        assert_eq!(Tally::read(text), None, "{text}");
    }
    assert_eq!(Tally::read(""), Some(Tally::default()));
}

#[test]
fn a_subject_is_in_its_newest_buckets_and_counts_as_if_it_were_in_all() {
    let window = Window::new(Duration::from_secs(600));
    let happenings = [(BASE, 1, 7), (BASE + 60, 2, 7), (BASE + 120, 1, 8), (BASE, 1, 8)];
    let first = minute_of(at(BASE));
    let (second, third) = (first + 1, first + 2);
    for (per_subject, text, counts) in [
        (1, format!("{second}:7 {third}:8"), [2, 1, 0]),
        (2, format!("{first}:8 {second}:7*2 {third}:8"), [4, 1, 0]),
        (3, format!("{first}:7,8 {second}:7*2 {third}:8"), [5, 1, 0]),
    ] {
        let tally = tally(window, &happenings, per_subject);
        assert_eq!(tally.to_string(), text);
        assert_eq!([120, 700, 800].map(|later| tally.count(window, at(BASE + later))), counts);
    }
}

#[test]
fn of_too_many_subjects_the_newest_stay() {
    let window = Window::new(Duration::from_secs(600));
    let most = u32::try_from(MOST_SUBJECTS).unwrap();
    let old = (0..most).map(|subject| (BASE, 1, subject));
    let new = (most..most + 10).map(|subject| (BASE + 60, 1, subject));
    let tally = tally(window, &old.chain(new).collect::<Vec<_>>(), 1);
    let count = |seconds| tally.count(window, at(BASE + seconds));
    assert_eq!((count(60), count(660)), (u64::from(most), 10));
}

#[test]
fn an_unbounded_stored_tally_is_read_within_the_bound() {
    let subjects = |from: u32| -> Vec<_> {
        (from..from + 900).map(|subject| format!("{subject:x}")).collect()
    };
    let text = format!("1:{} 2:{}", subjects(0).join(","), subjects(500).join(","));
    let tally = Tally::read(&text).unwrap();
    let kept: Vec<_> = tally.buckets.values().map(BTreeMap::len).collect();
    assert_eq!(kept, [100, 900]);
    assert!(tally.to_string().len() <= tally.longest_text());
}

#[test]
fn tallies_with_the_lowest_counts_are_dropped_first() {
    let window = Window::new(Duration::from_secs(600));
    let mut tallies: BTreeMap<_, _> = [("a", 3), ("b", 1), ("c", 2)]
        .map(|(name, times)| (name, tally(window, &[(BASE, times, 1)], 5)))
        .into();
    let (one, few) = (tallies["a"].longest_text() + 10, tallies["b"].longest_text() + 10);
    let count = |tally: &Tally| tally.count(window, at(BASE));
    let all = 2 * one + few;
    for (most, left) in [(all, "abc"), (all - 1, "ac"), (one, "a"), (one - 1, "")] {
        bound(&mut tallies, most, |_| 10, count);
        assert_eq!(tallies.keys().copied().collect::<String>(), left, "{most}");
    }
}

fn anything() -> impl Strategy<Value = Vec<(u8, i64, u32, u32)>> {
    let minute = prop_oneof![any::<i64>(), 29_000_000..29_000_200i64];
    let subject = prop_oneof![any::<u32>(), 0..9u32];
    prop::collection::vec((0u8..12, minute, any::<u32>(), subject), 0..300)
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec((BASE - 20_000..BASE + 1, 0u32..50, 0u32..20), 0..60)
}

proptest! {
    #[test]
    fn the_count_lies_between_the_window_and_one_bucket_more(
        list in happenings(), seconds in 1u64..20_000, later in 0i64..5_000, most in 1u32..100,
    ) {
        let window = Window::new(Duration::from_secs(seconds));
        let (now, length) = (BASE + later, i64::try_from(seconds).unwrap());
        let count = tally(window, &list, most).count(window, at(now));
        prop_assert!(count >= since(&list, now, length, most));
        prop_assert!(count <= since(&list, now, length + window.width() * 60, most));
    }

    #[test]
    fn the_order_does_not_matter(list in happenings(), seed in any::<u64>(), most in 1u32..100) {
        let window = Window::new(Duration::from_secs(600));
        let mut shuffled = list.clone();
        shuffled.sort_by_key(|one| one.0.unsigned_abs().wrapping_mul(seed | 1));
        prop_assert_eq!(tally(window, &list, most), tally(window, &shuffled, most));
    }

    #[test]
    fn expired_buckets_do_not_count_and_few_are_left(
        list in happenings(), seconds in 1u64..20_000, later in 0i64..5_000,
    ) {
        let (window, now) = (Window::new(Duration::from_secs(seconds)), at(BASE + later));
        let mut tally = tally(window, &list, 30);
        let before = tally.count(window, now);
        tally.expire(window, now);
        prop_assert_eq!(tally.count(window, now), before);
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
            tallies.entry(group).or_default().add(window, minute, times, subject, u32::MAX);
        }
        for subject in 0..crowd {
            let minute = 29_000_000 + i64::from(subject % 70);
            tallies.entry(0).or_default().add(window, minute, 1, subject.rotate_right(4), 1);
        }
        let largest = MOST_SUBJECTS * (22 + 9 + 11);
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
        for most in [1, 10] {
            let tally = tally(window, &list, most);
            let earlier = tally.count(window, at(BASE + first));
            prop_assert!(tally.count(window, at(BASE + first + more)) <= earlier);
        }
    }

    #[test]
    fn stored_tallies_are_read_back(list in happenings(), seconds in 1u64..20_000) {
        let tally = tally(Window::new(Duration::from_secs(seconds)), &list, 40);
        prop_assert_eq!(Tally::read(&tally.to_string()), Some(tally));
    }
}

//! What holds for any window and any occurrences: compared with a list of every single one.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

/// One thing that happened: when, how often, to whom.
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

/// How many happened less than `seconds` ago.
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
fn what_happened_counts_for_the_whole_window_and_one_bucket_longer_at_most() {
    let window = Window::new(Duration::from_secs(600));
    let tally = tally(window, &[(BASE, 3, 1)]);
    let count = |seconds: i64| tally.count(window, CountBy::Occurrences, at(BASE + seconds));
    assert_eq!((count(0), count(599), count(660)), (3, 3, 0));
}

#[test]
fn four_now_and_three_a_minute_later_are_seven() {
    let window = Window::new(Duration::from_secs(600));
    let tally = tally(window, &[(BASE, 4, 1), (BASE + 60, 3, 1)]);
    assert_eq!(tally.count(window, CountBy::Occurrences, at(BASE + 61)), 7);
    assert_eq!(tally.count(window, CountBy::Subjects, at(BASE + 61)), 1);
}

#[test]
fn what_is_no_tally_is_refused() {
    for text in ["x", "1", "1:", "1:x", "1:2:", "1:2:g", "1:2:3:4", "1:2 x", "1:-1"] {
        assert_eq!(text.parse::<Tally>(), Err(NotATally), "{text}");
    }
    assert_eq!("".parse::<Tally>(), Ok(Tally::default()));
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
        let count = tally(window, &list).count(window, CountBy::Occurrences, at(now));
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
    fn what_has_expired_did_not_count_and_what_is_left_is_little(
        list in happenings(), seconds in 1u64..20_000, later in 0i64..5_000,
    ) {
        let (window, now) = (Window::new(Duration::from_secs(seconds)), at(BASE + later));
        let mut tally = tally(window, &list);
        let before = tally.count(window, CountBy::Occurrences, now);
        tally.expire(window, now);
        prop_assert_eq!(tally.count(window, CountBy::Occurrences, now), before);
        prop_assert!(i64::try_from(tally.buckets.len()).unwrap() <= MOST_BUCKETS + 1);
    }

    #[test]
    fn counts_never_grow_with_time_alone(list in happenings(), first in 0i64..3_000, more in 0i64..3_000) {
        let window = Window::new(Duration::from_secs(900));
        let tally = tally(window, &list);
        for by in [CountBy::Occurrences, CountBy::Subjects] {
            let earlier = tally.count(window, by, at(BASE + first));
            prop_assert!(tally.count(window, by, at(BASE + first + more)) <= earlier);
        }
    }

    #[test]
    fn subjects_are_counted_once_each(list in happenings()) {
        let window = Window::new(Duration::from_secs(100_000));
        let subjects: BTreeSet<_> = list.iter().filter(|one| one.1 > 0).map(|one| one.2).collect();
        let count = tally(window, &list).count(window, CountBy::Subjects, at(BASE));
        prop_assert_eq!(count, subjects.len() as u64);
    }

    #[test]
    fn what_is_stored_is_read_as_it_was(list in happenings(), seconds in 1u64..20_000) {
        let tally = tally(Window::new(Duration::from_secs(seconds)), &list);
        prop_assert_eq!(tally.to_string().parse::<Tally>(), Ok(tally));
    }
}

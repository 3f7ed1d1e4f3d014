use super::*;
use machinist_domain::retry::Category;
use machinist_domain::shape::Architecture;

const HOUR: Duration = Duration::from_hours(1);
const NOW: Duration = Duration::from_hours(100);

fn capacity(vcpus: u32) -> Capacity {
    Capacity {
        vcpus,
        memory_mib: 1024,
        architecture: Architecture::Amd64,
        gpus: 0,
        gpu_vendor: None,
        interfaces: 0,
        addresses_per_interface: 0,
    }
}

fn failure(category: Category, retry: Retry) -> Failure {
    Failure { category, retry, message: "no".to_owned() }
}

fn down() -> Failure {
    failure(Category::Unavailable, Retry::Backoff)
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|&name| Arc::from(name)).collect()
}

/// A memory, and what a test does with it.
struct Case(Memory);

impl Case {
    fn new() -> Self {
        Self(Memory::new(TypeTimings::default()))
    }

    /// A memory that knows that type `a` has so many CPUs, since NOW.
    fn knowing(vcpus: u32) -> Self {
        let mut case = Self::new();
        case.look("a", NOW);
        assert_eq!(case.answered(&["a"], &[("a", vcpus)], NOW), names(&["a"]));
        case
    }

    fn look(&mut self, name: &str, now: Duration) -> Answer {
        self.0.look(&Arc::from(name), now).answer
    }

    fn wakes(&mut self, name: &str, now: Duration) -> bool {
        self.0.look(&Arc::from(name), now).wake
    }

    fn answered(&mut self, asked: &[&str], found: &[(&str, u32)], now: Duration) -> Vec<Arc<str>> {
        let found = found.iter().map(|(name, vcpus)| ((*name).to_owned(), capacity(*vcpus)));
        self.0.answered(&names(asked), &found.collect(), now, 0.0)
    }

    /// What the asker would do, and whom it would tell first.
    fn next(&mut self, now: Duration) -> (Vec<Arc<str>>, Next) {
        (self.0.sweep(now), self.0.next(now))
    }
}

fn ask(wanted: &[&str]) -> (Vec<Arc<str>>, Next) {
    (Vec::new(), Next::Ask(names(wanted)))
}

fn wait(until: Duration) -> (Vec<Arc<str>>, Next) {
    (Vec::new(), Next::WaitUntil(until))
}

#[test]
fn a_new_question_wakes_the_asker_once_and_is_answered() {
    let mut case = Case::new();
    assert_eq!(case.next(NOW), (Vec::new(), Next::End));
    assert!(case.wakes("a", NOW));
    assert!(!case.wakes("a", NOW));
    assert!(case.wakes("b", NOW));
    assert_eq!(case.next(NOW), ask(&["a", "b"]));
    assert_eq!(case.look("a", NOW), Answer::NotAsked);
    assert_eq!(case.answered(&["a", "b"], &[("a", 2)], NOW), names(&["a", "b"]));
    assert_eq!(case.look("a", NOW), Answer::Present(capacity(2)));
    assert_eq!(case.look("b", NOW), Answer::Absent);
}

#[test]
fn what_comes_while_a_request_is_in_flight_is_asked_next() {
    let mut case = Case::new();
    case.look("a", NOW);
    assert_eq!(case.next(NOW), ask(&["a"]));
    case.look("b", NOW);
    case.answered(&["a"], &[], NOW);
    assert_eq!(case.look("b", NOW), Answer::NotAsked);
    assert_eq!(case.next(NOW), ask(&["b"]));
}

#[test]
fn an_absent_type_is_asked_for_again_only_by_a_look_after_ten_minutes() {
    let mut case = Case::new();
    case.look("a", NOW);
    case.answered(&["a"], &[], NOW);
    let over = NOW + Duration::from_mins(10);
    assert_eq!(case.look("a", NOW + Duration::from_secs(599)), Answer::Absent);
    assert_eq!(case.next(NOW), wait(over));
    assert_eq!(case.next(over), (Vec::new(), Next::End));

    case.look("a", NOW);
    case.answered(&["a"], &[], NOW);
    assert!(case.wakes("a", over));
    assert_eq!(case.look("a", over), Answer::NotAsked);
    assert_eq!(case.answered(&["a"], &[], over), names(&["a"]), "somebody was told NotAsked");
}

#[test]
fn a_type_that_is_looked_at_is_refreshed_early_and_quietly() {
    let mut case = Case::knowing(2);
    let early = NOW + 24 * HOUR.mul_f64(0.8);
    case.look("a", NOW + HOUR);
    assert_eq!(case.next(NOW + HOUR), wait(early));
    assert_eq!(case.next(early), ask(&["a"]));
    assert_eq!(case.look("a", early), Answer::Present(capacity(2)), "also while it is asked for");
    assert_eq!(case.answered(&["a"], &[("a", 2)], early), names(&[]), "confirmed");
    case.look("a", early);
    assert_eq!(case.answered(&["a"], &[("a", 4)], early), names(&["a"]), "changed");
    assert_eq!(case.answered(&["a"], &[], early), names(&["a"]), "gone");
}

#[test]
fn a_type_that_nobody_looks_at_is_not_refreshed_but_forgotten() {
    let mut case = Case::knowing(2);
    let over = NOW + 24 * HOUR;
    assert_eq!(case.next(NOW + 20 * HOUR), wait(over));
    assert!(case.wakes("a", NOW + 20 * HOUR), "a late look brings the refresh");
    let mut case = Case::knowing(2);
    assert_eq!(case.next(over), (Vec::new(), Next::End));
}

#[test]
fn an_answer_outlives_failures_until_its_time_is_over() {
    let mut case = Case::knowing(2);
    case.look("a", NOW + HOUR);
    let late = NOW + 23 * HOUR;
    assert_eq!(case.next(late), ask(&["a"]));
    assert_eq!(case.0.failed(down(), late, 0.0), names(&[]), "a is still known");
    assert_eq!(case.look("a", late), Answer::Present(capacity(2)));
    assert_eq!(case.next(late), wait(late + Duration::from_secs(1)));
    let over = NOW + 24 * HOUR;
    assert_eq!(case.next(over), (names(&["a"]), Next::Ask(names(&["a"]))));
    assert_eq!(case.look("a", over), Answer::Unknown(down()));
}

#[test]
fn jitter_only_shortens() {
    let until = |random| {
        let mut memory = Memory::new(TypeTimings::default());
        memory.look(&Arc::from("a"), NOW);
        let found = HashMap::from([("a".to_owned(), capacity(2))]);
        memory.answered(&names(&["a"]), &found, NOW, random);
        memory.next(NOW)
    };
    assert_eq!(until(0.0), Next::WaitUntil(NOW + 24 * HOUR));
    assert_eq!(until(1.0), Next::WaitUntil(NOW + (24 * HOUR).mul_f64(0.9)));
}

#[test]
fn failures_back_off_and_only_news_is_told() {
    let mut case = Case::new();
    case.look("a", NOW);
    assert_eq!(case.0.failed(down(), NOW, 0.0), names(&["a"]));
    assert_eq!(case.look("a", NOW), Answer::Unknown(down()));
    assert!(!case.wakes("b", NOW), "it waits for the retry like the others");
    let second = Duration::from_secs(1);
    assert_eq!(case.next(NOW), wait(NOW + second));
    assert_eq!(case.next(NOW + second), ask(&["a", "b"]));
    assert_eq!(case.0.failed(down(), NOW, 0.0), names(&[]), "a repeat");
    assert_eq!(case.next(NOW), wait(NOW + 2 * second));
    let throttled = failure(Category::Throttled, Retry::Backoff);
    assert_eq!(case.0.failed(throttled, NOW, 1.0), names(&["a", "b"]));
    assert_eq!(case.next(NOW), wait(NOW + 2 * second), "four seconds, halved by chance");
    for _ in 0..100 {
        case.0.failed(down(), NOW, 0.0);
    }
    assert_eq!(case.next(NOW), wait(NOW + Duration::from_mins(5)));
    assert_eq!(case.answered(&["a", "b"], &[("a", 2)], NOW), names(&["a", "b"]));
    assert_eq!(case.0.failed(down(), NOW, 0.0), names(&[]), "nobody waits for anything");
    assert_eq!(case.next(NOW), wait(NOW + second), "and counting starts anew");
}

#[test]
fn who_is_sent_away_comes_back_neither_at_once_nor_never() {
    let mut case = Case::new();
    case.look("a", NOW);
    let after = |delay| failure(Category::Throttled, Retry::After(delay));
    case.0.failed(after(Duration::ZERO), NOW, 0.0);
    assert_eq!(case.next(NOW), wait(NOW + Duration::from_secs(1)));
    case.0.failed(after(Duration::from_secs(30)), NOW, 0.0);
    assert_eq!(case.next(NOW), wait(NOW + Duration::from_secs(30)));
    case.0.failed(after(Duration::MAX), NOW, 0.0);
    assert_eq!(case.next(NOW), wait(NOW + HOUR));
}

#[test]
fn a_bad_configuration_is_looked_at_again_every_ten_minutes_but_not_for_ever() {
    let mut case = Case::new();
    case.look("a", NOW);
    let bad = || failure(Category::InvalidConfiguration, Retry::OnChange);
    case.0.failed(bad(), NOW, 0.7);
    let later = NOW + Duration::from_mins(10);
    assert_eq!(case.next(NOW), wait(later));
    assert!(case.wakes("a", later), "the clock jumped, and the asker's timer does not know");
    assert_eq!(case.next(later), ask(&["a"]));
    assert_eq!(case.0.failed(bad(), later, 0.7), names(&[]));
    assert_eq!(case.next(later + 25 * HOUR), (Vec::new(), Next::End), "nobody looks any more");
}

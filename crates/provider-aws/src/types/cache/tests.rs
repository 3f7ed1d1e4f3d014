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

struct Case(TypeCache);

impl Case {
    fn new() -> Self {
        Self(TypeCache::new(TypeTimings::default()))
    }

    fn knowing(vcpus: u32) -> Self {
        let mut case = Self::new();
        case.look("a", NOW);
        assert_eq!(case.answered(&["a"], &[("a", vcpus)], NOW), names(&["a"]));
        case
    }

    fn look(&mut self, name: &str, now: Duration) -> ObservedCapacity {
        self.0.look(&Arc::from(name), now).answer
    }

    fn wakes(&mut self, name: &str, now: Duration) -> bool {
        self.0.look(&Arc::from(name), now).wake
    }

    fn answered(&mut self, asked: &[&str], found: &[(&str, u32)], now: Duration) -> Vec<Arc<str>> {
        let found = found.iter().map(|(name, vcpus)| ((*name).to_owned(), capacity(*vcpus)));
        self.0.answered(&names(asked), &found.collect(), now, 0.0)
    }

    fn next(&mut self, now: Duration) -> (Vec<Arc<str>>, Next) {
        (self.0.sweep(now), self.0.next(now))
    }
}

fn ask(wanted: &[&str]) -> (Vec<Arc<str>>, Next) {
    (Vec::new(), Next::Fetch(names(wanted)))
}

fn wait(until: Duration) -> (Vec<Arc<str>>, Next) {
    (Vec::new(), Next::WaitUntil(until))
}

#[test]
fn first_query_wakes_the_task_once() {
    let mut case = Case::new();
    assert_eq!(case.next(NOW), (Vec::new(), Next::End));
    assert!(case.wakes("a", NOW));
    assert!(!case.wakes("a", NOW));
    assert!(case.wakes("b", NOW));
    assert_eq!(case.next(NOW), ask(&["a", "b"]));
    assert_eq!(case.look("a", NOW), ObservedCapacity::NotAsked);
    assert_eq!(case.answered(&["a", "b"], &[("a", 2)], NOW), names(&["a", "b"]));
    assert_eq!(case.look("a", NOW), ObservedCapacity::Present(capacity(2)));
    assert_eq!(case.look("b", NOW), ObservedCapacity::Absent);
}

#[test]
fn query_during_a_request_is_fetched_next() {
    let mut case = Case::new();
    case.look("a", NOW);
    assert_eq!(case.next(NOW), ask(&["a"]));
    case.look("b", NOW);
    case.answered(&["a"], &[], NOW);
    assert_eq!(case.look("b", NOW), ObservedCapacity::NotAsked);
    assert_eq!(case.next(NOW), ask(&["b"]));
}

#[test]
fn absent_type_is_fetched_again_on_a_query_after_ten_minutes() {
    let mut case = Case::new();
    case.look("a", NOW);
    case.answered(&["a"], &[], NOW);
    let over = NOW + Duration::from_mins(10);
    assert_eq!(case.look("a", NOW + Duration::from_secs(599)), ObservedCapacity::Absent);
    assert_eq!(case.next(NOW), wait(over));
    assert_eq!(case.next(over), (Vec::new(), Next::End));

    case.look("a", NOW);
    case.answered(&["a"], &[], NOW);
    assert!(case.wakes("a", over));
    assert_eq!(case.look("a", over), ObservedCapacity::NotAsked);
    assert_eq!(case.answered(&["a"], &[], over), names(&["a"]), "it was NotAsked before");
}

#[test]
fn queried_type_is_refreshed_ahead_of_expiry() {
    let mut case = Case::knowing(2);
    let early = NOW + 24 * HOUR.mul_f64(0.8);
    case.look("a", NOW + HOUR);
    assert_eq!(case.next(NOW + HOUR), wait(early));
    assert_eq!(case.next(early), ask(&["a"]));
    assert_eq!(
        case.look("a", early),
        ObservedCapacity::Present(capacity(2)),
        "also while it is asked for"
    );
    assert_eq!(case.answered(&["a"], &[("a", 2)], early), names(&[]), "confirmed");
    case.look("a", early);
    assert_eq!(case.answered(&["a"], &[("a", 4)], early), names(&["a"]), "changed");
    assert_eq!(case.answered(&["a"], &[], early), names(&["a"]), "gone");
}

#[test]
fn type_without_queries_expires() {
    let mut case = Case::knowing(2);
    let over = NOW + 24 * HOUR;
    assert_eq!(case.next(NOW + 20 * HOUR), wait(over));
    assert!(case.wakes("a", NOW + 20 * HOUR), "a late look brings the refresh");
    let mut case = Case::knowing(2);
    assert_eq!(case.next(over), (Vec::new(), Next::End));
}

#[test]
fn answer_is_kept_during_failures_until_it_expires() {
    let mut case = Case::knowing(2);
    case.look("a", NOW + HOUR);
    let late = NOW + 23 * HOUR;
    assert_eq!(case.next(late), ask(&["a"]));
    assert_eq!(case.0.failed(down(), late, 0.0), names(&[]), "a is still known");
    assert_eq!(case.look("a", late), ObservedCapacity::Present(capacity(2)));
    assert_eq!(case.next(late), wait(late + Duration::from_secs(1)));
    let over = NOW + 24 * HOUR;
    assert_eq!(case.next(over), (names(&["a"]), Next::Fetch(names(&["a"]))));
    assert_eq!(case.look("a", over), ObservedCapacity::Unknown(down()));
}

#[test]
fn jitter_only_shortens() {
    let until = |random| {
        let mut cache = TypeCache::new(TypeTimings::default());
        cache.look(&Arc::from("a"), NOW);
        let found = HashMap::from([("a".to_owned(), capacity(2))]);
        cache.answered(&names(&["a"]), &found, NOW, random);
        cache.next(NOW)
    };
    assert_eq!(until(0.0), Next::WaitUntil(NOW + 24 * HOUR));
    assert_eq!(until(1.0), Next::WaitUntil(NOW + (24 * HOUR).mul_f64(0.9)));
}

#[test]
fn failures_back_off_and_repeats_are_not_announced() {
    let mut case = Case::new();
    case.look("a", NOW);
    assert_eq!(case.0.failed(down(), NOW, 0.0), names(&["a"]));
    assert_eq!(case.look("a", NOW), ObservedCapacity::Unknown(down()));
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
    assert_eq!(case.0.failed(down(), NOW, 0.0), names(&[]), "no type waits");
    assert_eq!(case.next(NOW), wait(NOW + second), "the count restarts");
}

#[test]
fn retry_after_is_bounded_on_both_sides() {
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
fn invalid_configuration_is_retried_every_ten_minutes_until_it_expires() {
    let mut case = Case::new();
    case.look("a", NOW);
    let bad = || failure(Category::InvalidConfiguration, Retry::OnChange);
    case.0.failed(bad(), NOW, 0.7);
    let later = NOW + Duration::from_mins(10);
    assert_eq!(case.next(NOW), wait(later));
    assert!(case.wakes("a", later), "the clock jumped, and the fetcher's timer does not know");
    assert_eq!(case.next(later), ask(&["a"]));
    assert_eq!(case.0.failed(bad(), later, 0.7), names(&[]));
    assert_eq!(case.next(later + 25 * HOUR), (Vec::new(), Next::End), "it is not queried any more");
}

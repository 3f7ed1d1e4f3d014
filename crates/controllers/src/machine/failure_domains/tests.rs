use std::sync::Arc;

use machinist_domain::retry::Category;
use machinist_runtime::clock::{Clock as _, ManualClock};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Fixture {
    domains: FailureDomains,
    clock: Arc<ManualClock>,
    woken: Arc<Mutex<Vec<String>>>,
}

fn fixture() -> Fixture {
    let (clock, woken) = (Arc::<ManualClock>::default(), Arc::<Mutex<Vec<String>>>::default());
    let heard = Arc::clone(&woken);
    let requeue: Requeue = Arc::new(move |key: &ObjectKey| heard.lock().push(key.name.to_string()));
    let timings = MachineTimings::default();
    Fixture {
        domains: FailureDomains::new(clock.clone(), timings, 30 * SECOND, requeue),
        clock,
        woken,
    }
}

fn group(spec: &str) -> Group {
    Group::new("ns", spec, Call::Create)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

fn full() -> CloudError {
    CloudError::new(ErrorClass::CapacityExhausted, "no room in zone a").within("zone-a")
}

fn waits(pause: Option<Pause>) -> Option<Duration> {
    pause.map(|Pause { wait, why }| {
        assert_eq!(why.category, Category::CapacityExhausted);
        wait
    })
}

#[test]
fn one_refusal_closes_the_domain_and_one_machine_probes() {
    let Fixture { domains, clock, woken } = fixture();
    assert_eq!(domains.enter(group("x"), &key("a")), None);
    domains.failed(group("x"), &full());
    let wait = waits(domains.enter(group("x"), &key("b"))).unwrap();
    assert!(wait <= 5 * SECOND && wait > 3 * SECOND, "{wait:?}");
    assert_eq!(domains.pause(Group::new("ns", "x", Call::Delete)), None, "another call");
    assert_eq!(domains.pause(group("other")), None);

    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("b")), None);
    assert!(waits(domains.enter(group("x"), &key("c"))).is_some(), "b probes for both");
    domains.succeeded(group("x"));
    assert_eq!(*woken.lock(), ["c"]);
    assert_eq!(domains.enter(group("x"), &key("c")), None);
}

#[test]
fn doubles_pauses_and_counts_concurrent_failures_once() {
    let Fixture { domains, clock, .. } = fixture();
    for _ in 0..32 {
        domains.failed(group("x"), &full());
    }
    assert!(waits(domains.pause(group("x"))).unwrap() <= 5 * SECOND);
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("a")), None);
    domains.failed(group("x"), &full());
    let wait = waits(domains.pause(group("x"))).unwrap();
    assert!(wait > 5 * SECOND && wait <= 10 * SECOND, "{wait:?}");
    for _ in 0..40 {
        clock.advance(600 * SECOND);
        domains.failed(group("x"), &full());
    }
    assert!(waits(domains.pause(group("x"))).unwrap() <= 600 * SECOND);
}

#[test]
fn specs_share_a_domain() {
    let Fixture { domains, .. } = fixture();
    domains.failed(group("x"), &full());
    domains.failed(group("y"), &full());
    assert!(waits(domains.pause(group("y"))).is_some());
    domains.succeeded(group("x"));
    assert_eq!(domains.pause(group("y")), None);
}

/// A refusal in this place, after which another attempt goes elsewhere.
#[test]
fn a_spec_that_waits_while_another_one_probes_stays_in_the_domain() {
    let Fixture { domains, clock, .. } = fixture();
    domains.failed(group("x"), &full());
    domains.failed(group("y"), &full());
    for _ in 0..30 {
        domains.wait(group("y"), &key("b"));
        clock.advance(waits(domains.pause(group("x"))).unwrap());
        assert_eq!(domains.enter(group("x"), &key("a")), None);
        domains.failed(group("x"), &full());
        assert!(domains.pause(group("y")).is_some());
    }
    assert!(clock.uptime() > LINKS);
}

fn full_in(zone: &str) -> CloudError {
    CloudError { effect: Effect::NoneForThisAttempt, ..full().within(format!("zone-{zone}")) }
}

fn open_at(zone: &str) -> Group {
    group("open").at(Some(zone))
}

#[test]
fn a_full_zone_blocks_only_its_own_place() {
    let Fixture { domains, .. } = fixture();
    domains.failed(group("pinned"), &full());
    domains.failed(open_at("a"), &full_in("a"));
    assert!(waits(domains.pause(open_at("a"))).is_some());
    assert_eq!(domains.pause(group("open")), None, "another attempt may be prepared");
    assert_eq!(domains.pause(open_at("b")), None);
}

#[test]
fn a_success_opens_its_zone_only() {
    let Fixture { domains, clock, woken } = fixture();
    for _ in 0..6 {
        domains.failed(group("pinned"), &full());
        clock.advance(waits(domains.pause(group("pinned"))).unwrap());
    }
    domains.failed(group("pinned"), &full());
    domains.wait(group("pinned"), &key("pinned"));
    domains.failed(open_at("a"), &full_in("a"));
    domains.wait(open_at("a"), &key("open"));
    let before = waits(domains.pause(group("pinned"))).unwrap();

    assert_eq!(domains.enter(open_at("b"), &key("other")), None);
    domains.succeeded(open_at("b"));
    assert_eq!(waits(domains.pause(group("pinned"))), Some(before), "zone a is as full as before");
    assert_eq!(*woken.lock(), ["open"], "it need not wait for zone a");
    assert_eq!(domains.enter(open_at("a"), &key("open")), None, "to be sent on");
    domains.failed(open_at("a"), &full_in("a"));
    assert_eq!(waits(domains.pause(group("pinned"))), Some(before), "what is known is no news");

    clock.advance(before);
    assert_eq!(domains.enter(open_at("a"), &key("open")), None);
    domains.succeeded(open_at("a"));
    assert_eq!(domains.pause(group("pinned")), None);
    assert_eq!(*woken.lock(), ["open", "pinned"]);
}

#[test]
fn pauses_grow_while_every_zone_is_full() {
    let Fixture { domains, clock, .. } = fixture();
    let mut calls = 0;
    for _ in 0..3600 {
        // One after the other, as attempts go round the zones.
        let zone = ["a", "b"][calls % 2];
        if domains.enter(open_at(zone), &key("m")).is_none() {
            domains.failed(open_at(zone), &full_in(zone));
            calls += 1;
        }
        clock.advance(SECOND);
    }
    assert!(calls < 30, "{calls} calls in an hour");
    // Room in one of them is room for all; once it is full again, they wait again.
    domains.succeeded(open_at("b"));
    assert_eq!(domains.pause(open_at("a")), None);
    domains.failed(open_at("b"), &full_in("b"));
    domains.failed(open_at("a"), &full_in("a"));
    assert!(waits(domains.pause(open_at("a"))).is_some());
    assert!(waits(domains.pause(open_at("b"))).is_some());
}

#[test]
fn an_old_success_elsewhere_opens_nothing() {
    let Fixture { domains, clock, .. } = fixture();
    domains.failed(open_at("a"), &full_in("a"));
    domains.succeeded(open_at("b"));
    let mut calls = 0;
    for _ in 0..3600 {
        if domains.enter(open_at("a"), &key("m")).is_none() {
            domains.failed(open_at("a"), &full_in("a"));
            calls += 1;
        }
        clock.advance(10 * SECOND);
    }
    assert!(calls < 200, "{calls} calls in ten hours");
}

#[test]
fn a_refusal_without_a_place_blocks_every_place() {
    let Fixture { domains, .. } = fixture();
    domains.failed(open_at("a"), &full().within("account"));
    assert!(waits(domains.pause(open_at("b"))).is_some());
    assert!(waits(domains.pause(group("open"))).is_some());
    domains.succeeded(open_at("b"));
    assert_eq!(domains.pause(open_at("a")), None);
    assert_eq!(domains.state.lock().refused.get_stale(&group("open")), None);
}

#[test]
fn a_full_zone_ends_the_probe_of_the_account() {
    let Fixture { domains, clock, .. } = fixture();
    let account = || full().within("account");
    domains.failed(open_at("a"), &account());
    domains.failed(group("other"), &account());
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(open_at("a"), &key("m")), None);
    assert!(waits(domains.pause(group("other"))).is_some(), "m probes for both");
    domains.failed(open_at("a"), &full_in("a"));
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(open_at("b"), &key("m")), None);
    assert_eq!(domains.enter(group("other"), &key("o")), None);
}

#[test]
fn requeues_at_once_if_the_domain_opened_meanwhile() {
    let Fixture { domains, woken, .. } = fixture();
    domains.failed(group("x"), &full());
    domains.failed(open_at("a"), &full_in("a"));
    domains.succeeded(open_at("b"));
    domains.wait(open_at("a"), &key("open"));
    domains.succeeded(group("x"));
    domains.wait(group("x"), &key("pinned"));
    assert_eq!(*woken.lock(), ["open", "pinned"]);
}

#[test]
fn errors_of_one_machine_close_nothing() {
    let Fixture { domains, .. } = fixture();
    domains.failed(group("x"), &CloudError::new(ErrorClass::Unauthorised, "no").within("account"));
    domains.failed(group("x"), &CloudError::new(ErrorClass::Throttled, "too fast"));
    assert_eq!(domains.pause(group("x")), None);
}

#[test]
fn a_lost_probe_times_out() {
    let Fixture { domains, clock, .. } = fixture();
    domains.failed(group("x"), &full());
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("a")), None);
    clock.advance(30 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("b")), None);
}

#[test]
fn obeys_retry_after() {
    let Fixture { domains, .. } = fixture();
    domains.failed(group("x"), &CloudError { retry_after: Some(60 * SECOND), ..full() });
    assert_eq!(waits(domains.pause(group("x"))), Some(60 * SECOND));
}

#[test]
fn limits_retry_after() {
    let Fixture { domains, .. } = fixture();
    domains.failed(group("x"), &CloudError { retry_after: Some(Duration::MAX), ..full() });
    assert_eq!(waits(domains.pause(group("x"))), Some(3600 * SECOND));
}

#[test]
fn forgets_failures_after_a_while() {
    let Fixture { domains, clock, .. } = fixture();
    for _ in 0..6 {
        domains.failed(group("x"), &full());
        clock.advance(waits(domains.pause(group("x"))).unwrap());
    }
    clock.advance(599 * SECOND);
    domains.failed(group("x"), &full());
    let wait = waits(domains.pause(group("x"))).unwrap();
    assert!(wait > 200 * SECOND, "not so long ago: {wait:?}");

    clock.advance(wait + 600 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("a")), None);
    domains.failed(group("x"), &full());
    assert!(waits(domains.pause(group("x"))).unwrap() <= 5 * SECOND);
}

#[test]
fn forgets_specs_and_domains_that_are_not_used() {
    let Fixture { domains, clock, .. } = fixture();
    for number in 0..100 {
        let zone = full().within(format!("zone-{number}"));
        domains.failed(group(&number.to_string()), &zone);
    }
    domains.wait(group("0"), &key("a"));
    domains.succeeded(open_at("b"));
    clock.advance(LINKS);
    let (mut state, now) = (domains.state.lock(), domains.clock.uptime());
    assert!(!state.refused.sweep(now) && !state.room.sweep(now));
    assert!(!state.pauses.sweep(now) && !state.waiting.sweep(now));
}

#[test]
fn drops_waiters_that_do_not_return() {
    let Fixture { domains, clock, woken } = fixture();
    domains.failed(group("x"), &full());
    domains.wait(group("x"), &key("gone"));
    for _ in 0..20 {
        clock.advance(waits(domains.pause(group("x"))).unwrap());
        assert_eq!(domains.enter(group("x"), &key("a")), None);
        domains.wait(group("x"), &key("alive"));
        domains.failed(group("x"), &full());
    }
    domains.succeeded(group("x"));
    assert_eq!(*woken.lock(), ["alive"]);
}

//! Who waits for whom.

use std::sync::Arc;

use machinist_domain::retry::Category;
use machinist_runtime::clock::ManualClock;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Bed {
    domains: FailureDomains,
    clock: Arc<ManualClock>,
    woken: Arc<Mutex<Vec<String>>>,
}

fn bed() -> Bed {
    let (clock, woken) = (Arc::<ManualClock>::default(), Arc::<Mutex<Vec<String>>>::default());
    let heard = Arc::clone(&woken);
    let requeue: Requeue = Arc::new(move |key: &ObjectKey| heard.lock().push(key.name.to_string()));
    let timings = MachineTimings::default();
    Bed { domains: FailureDomains::new(clock.clone(), timings, 30 * SECOND, requeue), clock, woken }
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

fn waits(gate: &Gate) -> Option<Duration> {
    match gate {
        Gate::Open => None,
        Gate::Closed { wait, why } => {
            assert_eq!(why.category, Category::CapacityExhausted);
            Some(*wait)
        }
    }
}

#[test]
fn one_refusal_closes_the_domain_for_all_and_one_of_them_tries_first() {
    let Bed { domains, clock, woken } = bed();
    assert_eq!(domains.enter(group("x"), &key("a")), Gate::Open);
    domains.failed(group("x"), &full());
    let wait = waits(&domains.enter(group("x"), &key("b"))).unwrap();
    assert!(wait <= 5 * SECOND && wait > 3 * SECOND, "{wait:?}");
    assert_eq!(
        domains.gate(Group::new("ns", "x", Call::Delete)),
        Gate::Open,
        "deleting is no creation"
    );
    assert_eq!(domains.gate(group("other")), Gate::Open);

    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("b")), Gate::Open);
    assert!(waits(&domains.enter(group("x"), &key("c"))).is_some(), "b tries for both");
    domains.succeeded(group("x"));
    assert_eq!(*woken.lock(), ["c"]);
    assert_eq!(domains.enter(group("x"), &key("c")), Gate::Open);
}

#[test]
fn pauses_double_and_calls_that_fail_together_count_once() {
    let Bed { domains, clock, .. } = bed();
    for _ in 0..32 {
        domains.failed(group("x"), &full());
    }
    assert!(waits(&domains.gate(group("x"))).unwrap() <= 5 * SECOND);
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("a")), Gate::Open);
    domains.failed(group("x"), &full());
    let wait = waits(&domains.gate(group("x"))).unwrap();
    assert!(wait > 5 * SECOND && wait <= 10 * SECOND, "{wait:?}");
    for _ in 0..40 {
        clock.advance(600 * SECOND);
        domains.failed(group("x"), &full());
    }
    assert!(waits(&domains.gate(group("x"))).unwrap() <= 600 * SECOND);
}

#[test]
fn specs_that_share_a_domain_wait_together() {
    let Bed { domains, .. } = bed();
    domains.failed(group("x"), &full());
    domains.failed(group("y"), &full());
    assert!(waits(&domains.gate(group("y"))).is_some());
    domains.succeeded(group("x"));
    assert_eq!(domains.gate(group("y")), Gate::Open);
}

/// A refusal in this place, after which another attempt goes elsewhere.
fn full_in(zone: &str) -> CloudError {
    CloudError { effect: Effect::NoneForThisAttempt, ..full().within(format!("zone-{zone}")) }
}

fn open_at(zone: &str) -> Group {
    group("open").at(Some(zone))
}

#[test]
fn a_full_zone_holds_up_nobody_who_goes_elsewhere() {
    let Bed { domains, .. } = bed();
    domains.failed(group("pinned"), &full());
    domains.failed(open_at("a"), &full_in("a"));
    assert!(waits(&domains.gate(open_at("a"))).is_some());
    assert_eq!(domains.gate(group("open")), Gate::Open, "another attempt may be prepared");
    assert_eq!(domains.gate(open_at("b")), Gate::Open);
}

#[test]
fn a_success_opens_the_zone_that_it_was_reached_in_and_no_other() {
    let Bed { domains, clock, woken } = bed();
    for _ in 0..6 {
        domains.failed(group("pinned"), &full());
        clock.advance(waits(&domains.gate(group("pinned"))).unwrap());
    }
    domains.failed(group("pinned"), &full());
    domains.wait(group("pinned"), &key("pinned"));
    domains.failed(open_at("a"), &full_in("a"));
    domains.wait(open_at("a"), &key("open"));
    let before = waits(&domains.gate(group("pinned"))).unwrap();

    assert_eq!(domains.enter(open_at("b"), &key("other")), Gate::Open);
    domains.succeeded(open_at("b"));
    assert_eq!(waits(&domains.gate(group("pinned"))), Some(before), "zone a is as full as before");
    assert_eq!(*woken.lock(), ["open"], "it need not wait for zone a");
    assert_eq!(domains.enter(open_at("a"), &key("open")), Gate::Open, "to be sent on");
    domains.failed(open_at("a"), &full_in("a"));
    assert_eq!(waits(&domains.gate(group("pinned"))), Some(before), "what is known is no news");

    clock.advance(before);
    assert_eq!(domains.enter(open_at("a"), &key("open")), Gate::Open);
    domains.succeeded(open_at("a"));
    assert_eq!(domains.gate(group("pinned")), Gate::Open);
    assert_eq!(*woken.lock(), ["open", "pinned"]);
}

#[test]
fn where_every_zone_is_full_everybody_waits_and_pauses_grow() {
    let Bed { domains, clock, .. } = bed();
    let mut calls = 0;
    for _ in 0..3600 {
        // One after the other, as attempts go round the zones.
        let zone = ["a", "b"][calls % 2];
        if domains.enter(open_at(zone), &key("m")) == Gate::Open {
            domains.failed(open_at(zone), &full_in(zone));
            calls += 1;
        }
        clock.advance(SECOND);
    }
    assert!(calls < 30, "{calls} calls in an hour");
    // Room in one of them is room for all; once it is full again, they wait again.
    domains.succeeded(open_at("b"));
    assert_eq!(domains.gate(open_at("a")), Gate::Open);
    domains.failed(open_at("b"), &full_in("b"));
    domains.failed(open_at("a"), &full_in("a"));
    assert!(waits(&domains.gate(open_at("a"))).is_some());
    assert!(waits(&domains.gate(open_at("b"))).is_some());
}

#[test]
fn that_it_worked_elsewhere_long_ago_opens_nothing() {
    let Bed { domains, clock, .. } = bed();
    domains.failed(open_at("a"), &full_in("a"));
    domains.succeeded(open_at("b"));
    let mut calls = 0;
    // Its subnet is gone: nobody gets to b any more.
    for _ in 0..3600 {
        if domains.enter(open_at("a"), &key("m")) == Gate::Open {
            domains.failed(open_at("a"), &full_in("a"));
            calls += 1;
        }
        clock.advance(10 * SECOND);
    }
    assert!(calls < 200, "{calls} calls in ten hours");
}

#[test]
fn what_holds_wherever_they_go_holds_up_every_place() {
    let Bed { domains, .. } = bed();
    domains.failed(open_at("a"), &full().within("account"));
    assert!(waits(&domains.gate(open_at("b"))).is_some());
    assert!(waits(&domains.gate(group("open"))).is_some());
    domains.succeeded(open_at("b"));
    assert_eq!(domains.gate(open_at("a")), Gate::Open);
    assert!(domains.state.lock().answers.is_empty());
}

#[test]
fn whoever_is_past_the_account_and_finds_no_room_holds_nobody_up_in_the_account() {
    let Bed { domains, clock, .. } = bed();
    let account = || full().within("account");
    domains.failed(open_at("a"), &account());
    domains.failed(group("other"), &account());
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(open_at("a"), &key("m")), Gate::Open);
    assert!(waits(&domains.gate(group("other"))).is_some(), "m tries for both");
    domains.failed(open_at("a"), &full_in("a"));
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(open_at("b"), &key("m")), Gate::Open);
    assert_eq!(domains.enter(group("other"), &key("o")), Gate::Open);
}

#[test]
fn nobody_waits_for_what_was_opened_since_they_looked() {
    let Bed { domains, woken, .. } = bed();
    domains.failed(group("x"), &full());
    domains.failed(open_at("a"), &full_in("a"));
    domains.succeeded(open_at("b"));
    domains.wait(open_at("a"), &key("open"));
    domains.succeeded(group("x"));
    domains.wait(group("x"), &key("pinned"));
    assert_eq!(*woken.lock(), ["open", "pinned"]);
}

#[test]
fn what_concerns_one_machine_alone_closes_nothing() {
    let Bed { domains, .. } = bed();
    domains.failed(group("x"), &CloudError::new(ErrorClass::Unauthorised, "no").within("account"));
    domains.failed(group("x"), &CloudError::new(ErrorClass::Throttled, "too fast"));
    assert_eq!(domains.gate(group("x")), Gate::Open);
}

#[test]
fn somebody_who_tries_and_never_comes_back_does_not_keep_the_others_out() {
    let Bed { domains, clock, .. } = bed();
    domains.failed(group("x"), &full());
    clock.advance(5 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("a")), Gate::Open);
    clock.advance(30 * SECOND);
    assert_eq!(domains.enter(group("x"), &key("b")), Gate::Open);
}

#[test]
fn the_cloud_may_ask_for_more_patience() {
    let Bed { domains, .. } = bed();
    domains.failed(group("x"), &CloudError { retry_after: Some(60 * SECOND), ..full() });
    assert_eq!(waits(&domains.gate(group("x"))), Some(60 * SECOND));
}

#[test]
fn the_cloud_cannot_ask_for_patience_without_end() {
    let Bed { domains, .. } = bed();
    domains.failed(group("x"), &CloudError { retry_after: Some(Duration::MAX), ..full() });
    assert_eq!(waits(&domains.gate(group("x"))), Some(3600 * SECOND));
}

#[test]
fn a_failure_long_after_the_last_pause_is_the_first_of_its_kind() {
    let Bed { domains, clock, .. } = bed();
    for _ in 0..6 {
        domains.failed(group("x"), &full());
        clock.advance(waits(&domains.gate(group("x"))).unwrap());
    }
    clock.advance(599 * SECOND);
    domains.failed(group("x"), &full());
    let wait = waits(&domains.gate(group("x"))).unwrap();
    assert!(wait > 200 * SECOND, "not so long ago: {wait:?}");

    clock.advance(wait + 600 * SECOND);
    domains.failed(group("x"), &full());
    assert!(waits(&domains.gate(group("x"))).unwrap() <= 5 * SECOND);
}

#[test]
fn specs_and_domains_that_nobody_asks_for_any_more_are_forgotten() {
    let Bed { domains, clock, .. } = bed();
    for number in 0..100 {
        let zone = full().within(format!("zone-{number}"));
        domains.failed(group(&number.to_string()), &zone);
    }
    clock.advance(3600 * SECOND);
    domains.failed(group("x"), &full());
    let state = domains.state.lock();
    assert_eq!((state.answers.len(), state.pauses.len()), (1, 1));
}

#[test]
fn machines_that_are_gone_do_not_wait_for_ever() {
    let Bed { domains, clock, woken } = bed();
    domains.failed(group("x"), &full());
    domains.wait(group("x"), &key("gone"));
    for _ in 0..20 {
        clock.advance(waits(&domains.gate(group("x"))).unwrap());
        assert_eq!(domains.enter(group("x"), &key("a")), Gate::Open);
        domains.wait(group("x"), &key("alive"));
        domains.failed(group("x"), &full());
    }
    domains.succeeded(group("x"));
    assert_eq!(*woken.lock(), ["alive"]);
}

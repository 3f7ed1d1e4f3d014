//! Limits of Machines in flight and of retries.

use std::time::Duration;

use super::*;

const RECORDS: &str = "machinist.dev/remediations";

fn limits(annotations: &Value) -> Arc<MachineHealthCheck> {
    check(&json!({"metadata": {"annotations": annotations}}))
}

fn held(view: View) -> Vec<Step> {
    let findings = assessed(view).findings;
    findings.into_iter().map(|one| one.step).filter(|step| matches!(step, Step::Held(_))).collect()
}

#[test]
fn no_more_machines_are_in_flight_than_the_health_check_allows() {
    let with = |limit: &str, members: Vec<Member>, missing| {
        let check = limits(&json!({"machinist.dev/max-in-flight": limit}));
        View { missing, ..view(check, members, 0) }
    };
    let bad = |others: Vec<Member>| fleet(3, 2).into_iter().chain(others).collect::<Vec<_>>();
    for (limit, others, missing, expected) in [
        ("2", vec![], 0, 2),
        ("2", vec![deleting("x")], 0, 1),
        ("2", vec![booting("x", at(0))], 0, 1),
        ("2", vec![], 1, 1),
        ("2", vec![], 9, 0),
        ("0", vec![], 0, 0),
        ("40%", vec![], 0, 2),
        ("100%", vec![], 0, 3),
    ] {
        let count = remediated(with(limit, bad(others.clone()), missing)).len();
        assert_eq!(count, expected, "{limit} with {} and {missing}", others.len());
    }
    let hold = Hold::InFlight { in_flight: 1, limit: 1, until: None };
    assert_eq!(held(with("1", fleet(2, 0), 0)), [Step::Held(hold)]);
}

/// Machines of one set. What is deleted is replaced at once.
struct Places {
    annotations: Value,
    machines: Vec<Place>,
    made: usize,
    deleted: Vec<i64>,
}

#[derive(Clone)]
struct Place {
    name: String,
    created: i64,
    bad_since: Option<i64>,
    failed: bool,
}

impl Places {
    fn new(annotations: Value, count: usize) -> Self {
        let mut places = Self { annotations, machines: Vec::new(), made: 0, deleted: Vec::new() };
        for _ in 0..count {
            let place = places.make(-600);
            places.machines.push(place);
        }
        places
    }

    fn make(&mut self, created: i64) -> Place {
        self.made += 1;
        Place { name: format!("m-{:03}", self.made), created, bad_since: None, failed: false }
    }

    fn fail(&mut self, place: usize, now: i64) {
        self.machines[place].bad_since.get_or_insert(now);
    }

    fn view(&self, now: i64) -> View {
        let member = |place: &Place| {
            let created = at(place.created).to_string();
            let phase = if place.failed { "Failed" } else { "Running" };
            let patch =
                json!({"metadata": {"creationTimestamp": created}, "status": {"phase": phase}});
            let machine = machine(&place.name, &patch);
            let (status, since) = match place.bad_since {
                Some(since) => ("Unknown", since),
                None => ("True", place.created),
            };
            member(machine, Some(node(&place.name, status, &at(since).to_string())))
        };
        let members = self.machines.iter().map(member).collect();
        view(limits(&self.annotations), members, now)
    }

    /// Reconciles until nothing is recorded or deleted any more. What is recorded is not deleted in the same reconcile.
    fn reconcile(&mut self, now: i64) -> Assessment {
        loop {
            let assessment = assessed(self.view(now));
            if let Some(record) = assessment.record {
                assert_ne!(self.annotations[RECORDS], json!(record), "it is recorded once");
                self.annotations[RECORDS] = json!(record);
                continue;
            }
            let names: Vec<_> = assessment.remediations().map(|one| &*one.meta.key.name).collect();
            if names.is_empty() {
                return assessment;
            }
            for name in names {
                let place = self.machines.iter().position(|one| one.name == name).unwrap();
                let bad = self.machines[place].bad_since.is_some_and(|since| now - since >= 5);
                assert!(bad, "{name} is healthy");
                self.deleted.push(now);
                self.machines[place] = self.make(now);
            }
        }
    }
}

#[test]
fn the_fifth_replacement_of_an_hour_stops_and_the_counts_survive_in_the_annotation() {
    let mut places = Places::new(json!({"machinist.dev/max-retries": "4"}), 3);
    let mut now = 0;
    for _ in 0..4 {
        places.fail(1, now);
        now += 6;
        places.reconcile(now);
    }
    assert_eq!(places.deleted.len(), 4);
    places.fail(1, now);
    places.fail(0, now);
    let stopped = places.reconcile(now + 6);
    assert_eq!(places.deleted.len(), 5, "another place has a count of its own");
    let retries = Hold::RetryLimit { retries: 4, period: Duration::from_hours(1) };
    let held: Vec<_> = stopped.held().map(|(_, hold)| hold.clone()).collect();
    assert_eq!(held, [retries]);
}

#[test]
fn a_machine_that_was_healthy_for_long_enough_is_no_retry() {
    let replaced = |period: &str, pause: i64| {
        let limit =
            json!({"machinist.dev/max-retries": "1", "machinist.dev/min-healthy-period": period});
        let mut places = Places::new(limit, 1);
        places.fail(0, 0);
        places.reconcile(5);
        places.fail(0, 5 + pause);
        places.reconcile(5 + pause + 5);
        places.deleted.len()
    };
    assert_eq!((replaced("30m", 29), replaced("30m", 30), replaced("0s", 0)), (1, 2, 2));
}

#[test]
fn what_cannot_be_read_counts_as_nothing_and_an_invalid_limit_is_refused() {
    for text in ["", "v1 {", "v2 []"] {
        let mut places = Places::new(json!({"machinist.dev/max-retries": "1", RECORDS: text}), 1);
        places.fail(0, 0);
        places.reconcile(5);
        assert_eq!(places.deleted.len(), 1, "{text}");
    }
    for (name, value) in [
        ("machinist.dev/max-retries", "-1"),
        ("machinist.dev/max-in-flight", "many"),
        ("machinist.dev/min-healthy-period", "soon"),
    ] {
        let plan = decide(&snapshot(view(limits(&json!({ name: value })), fleet(1, 0), 0)));
        let Plan::Refuse(Refusal::Annotation(named, found, _)) = &plan else { panic!("{plan}") };
        assert_eq!((*named, found.as_str()), (name, value));
    }
}

proptest! {
    #[test]
    fn in_a_healthy_period_no_place_is_replaced_more_often_than_allowed(
        steps in proptest::collection::vec((0..3_usize, any::<bool>(), 1..20_i64), 1..60),
        max in 0..4_usize,
    ) {
        let limit = json!({"machinist.dev/max-retries": max.to_string()});
        let (mut places, mut now) = (Places::new(limit, 3), 0);
        for (place, fails, minutes) in steps {
            if fails {
                places.fail(place, now);
            } else {
                places.machines[place].bad_since = None;
            }
            now += minutes;
            places.reconcile(now);
        }
        for from in &places.deleted {
            let window = places.deleted.iter().filter(|time| (*from..from + 60).contains(*time));
            prop_assert!(window.count() <= 3 * max, "{:?}", places.deleted);
        }
    }
}

#[test]
fn a_failed_machine_is_counted_however_long_ago_it_was_created() {
    let mut places = Places::new(json!({"machinist.dev/max-retries": "1"}), 1);
    places.fail(0, 0);
    places.reconcile(10);
    places.machines[0].failed = true;
    // Also when the record would be removed otherwise.
    for now in [20, 2 * 3600, 48 * 3600] {
        let assessment = places.reconcile(now);
        let limit = |(_, hold): &(_, &Hold)| matches!(hold, Hold::RetryLimit { retries: 1, .. });
        assert_eq!(assessment.held().filter(limit).count(), 1, "after {now} s: {assessment:?}");
    }
    assert_eq!(places.deleted, [10]);
}

#[test]
fn machines_that_cannot_be_recorded_wait() {
    let mut places = Places::new(json!({"machinist.dev/max-retries": "4"}), 600);
    for place in 0..600 {
        places.fail(place, 0);
    }
    let assessment = places.reconcile(10);
    assert_eq!(places.deleted.len(), 512);
    let waiting = assessment.held().filter(|(_, hold)| **hold == Hold::NoRecord);
    assert_eq!(waiting.count(), 88);
}

use std::sync::Arc;

use jiff::SignedDuration;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::clock::{Clock as _, SystemClock};
use proptest::prelude::*;

use super::*;
use crate::kinds::{EventDetails, Involved};
use crate::recycler::detection::counting::{Counting, Located, Target};

struct Cluster {
    events: Vec<Arc<Event>>,
    version: u64,
    recycler: EventRecycler,
    now: Timestamp,
}

struct Replica {
    event_tracker: EventTracker,
    seen: Vec<Arc<Event>>,
    position: Version,
    deaf: bool,
    /// Whether it has seen every single change since the last mark was stored.
    knows_all: bool,
}

impl Replica {
    fn new(cluster: &Cluster) -> Self {
        let event_tracker = event_tracker();
        track(&event_tracker, &cluster.recycler, &cluster.events);
        let (seen, position) = (cluster.events.clone(), Version(cluster.version));
        Self { event_tracker, seen, position, deaf: false, knows_all: false }
    }

    fn hear(&mut self, event: &Arc<Event>) {
        if !self.deaf {
            self.position = event.meta.version;
            self.learn(event);
        }
    }

    fn list(&mut self, cluster: &Cluster) {
        let missed = self.position < Version(cluster.version);
        for event in &cluster.events {
            self.learn(event);
        }
        self.position = Version(cluster.version);
        self.deaf = false;
        self.knows_all &= !missed;
    }

    fn learn(&mut self, event: &Arc<Event>) {
        let place = self.seen.iter().position(|one| one.meta.key == event.meta.key);
        if place.is_some_and(|place| self.seen[place].meta.version >= event.meta.version) {
            return;
        }
        let before = place.map(|place| Entry::Known(Arc::clone(&self.seen[place])));
        let after = Entry::Known(Arc::clone(event));
        self.event_tracker.event_changed(before.as_ref(), Some(&after), self.position);
        match place {
            Some(place) => self.seen[place] = Arc::clone(event),
            None => self.seen.push(Arc::clone(event)),
        }
    }
}

fn track(event_tracker: &EventTracker, recycler: &EventRecycler, events: &[Arc<Event>]) {
    if event_tracker.track(recycler) {
        event_tracker.seed(&recycler.meta.key, events.iter().map(|event| &**event));
    }
}

fn meta(name: &str, version: u64) -> Meta {
    Meta {
        key: ObjectKey::new("", name),
        uid: Uid(name.into()),
        version: Version(version),
        deleting: false,
    }
}

fn event_tracker() -> EventTracker {
    EventTracker::new(Arc::new(SystemClock), Duration::ZERO)
}

impl Cluster {
    fn new() -> Self {
        let spec = serde_json::json!({
            "searchTerms": ["bad"], "window": "1h", "threshold": 1000, "countBy": "Events",
            "maxPerObject": 1_000_000,
        });
        let recycler = EventRecycler {
            freeze: None,
            meta: meta("er", 1),
            generation: 1,
            finalizers: Box::default(),
            spec: Some(Arc::new(serde_json::from_value(spec).unwrap())),
            status: Arc::default(),
        };
        Self { events: Vec::new(), version: 10, recycler, now: SystemClock.now() }
    }

    fn event(&mut self, name: &str, count: u32, message: &str, first: i64) -> Arc<Event> {
        self.version += 1;
        let last = self.now.as_second();
        Arc::new(Event {
            meta: meta(name, self.version),
            count,
            about: Some(Box::new(EventDetails {
                message: message.into(),
                reason: "R".into(),
                kind: "Warning".into(),
                reporter: "".into(),
                involved: Involved::Node("n".into()),
                host: None,
                first: last - first,
                last,
            })),
        })
    }

    fn write(&mut self, event: Arc<Event>, watching: &[&EventTracker]) {
        let key = &event.meta.key;
        let place = self.events.iter().position(|one| one.meta.key == *key);
        let before = place.map(|place| Entry::Known(Arc::clone(&self.events[place])));
        let after = Entry::Known(Arc::clone(&event));
        for event_tracker in watching {
            event_tracker.event_changed(before.as_ref(), Some(&after), event.meta.version);
        }
        match place {
            Some(place) => self.events[place] = event,
            None => self.events.push(event),
        }
    }

    /// What is stored, and what is noted beyond.
    fn counted(&self, event_tracker: &EventTracker) -> Counting {
        let mut counting = Counting::of(&self.recycler);
        let until = Version(self.version);
        let known =
            event_tracker.occurrences(&self.recycler.meta.key, counting.mark, until).unwrap();
        let news: Vec<_> = known
            .occurrences
            .into_iter()
            .map(|occurrence| Located {
                occurrence,
                node: None,
                target: Target::Group(GroupRef::new("r", "g")),
            })
            .collect();
        counting.take(&news, &known.settings.unwrap(), self.now);
        counting.mark = until;
        counting
    }

    fn count(&self, event_tracker: &EventTracker) -> u64 {
        let settings = Settings::read(self.recycler.spec.as_deref()).unwrap();
        let counts = self.counted(event_tracker).counts(&settings, self.now);
        counts.get(&GroupRef::new("r", "g")).copied().unwrap_or_default()
    }

    /// Every Event that has told something beyond the mark is one at least.
    fn at_least(&self) -> u64 {
        let settings = Settings::read(self.recycler.spec.as_deref()).unwrap();
        let stored = Counting::of(&self.recycler);
        let beyond = self.events.iter().filter(|event| event.meta.version > stored.mark).count();
        stored.counts(&settings, self.now).values().sum::<u64>() + beyond as u64
    }

    fn store(&mut self, leader: &EventTracker, watching: &[&EventTracker]) {
        let counting = self.counted(leader).write();
        self.recycler.status = Arc::new(EventRecyclerStatus {
            counting: Some(counting),
            observed_generation: Some(self.recycler.generation),
            ..EventRecyclerStatus::default()
        });
        for event_tracker in watching {
            track(event_tracker, &self.recycler, &self.events);
        }
    }
}

#[test]
fn an_event_counts_by_its_occurrences() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    track(&event_tracker, &cluster.recycler, &cluster.events);
    for (name, count, message, total) in [
        ("a", 1, "bad", 1),
        ("a", 4, "bad", 4),
        ("a", 4, "bad", 4),
        ("b", 2, "good", 4),
        ("c", 3, "bad", 7),
    ] {
        let event = cluster.event(name, count, message, 0);
        cluster.write(event, &[&event_tracker]);
        assert_eq!(cluster.count(&event_tracker), total, "{name} {count}");
    }
}

/// Everyone who may create an Event chooses its count.
#[test]
fn an_event_counts_at_most_as_often_as_one_object() {
    for (count_by, most) in [("Events", 4), ("Pods", 1), ("Nodes", 1)] {
        let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
        let spec = serde_json::json!({
            "searchTerms": ["bad"], "countBy": count_by, "maxPerObject": 4,
        });
        cluster.recycler.spec = Some(Arc::new(serde_json::from_value(spec).unwrap()));
        track(&event_tracker, &cluster.recycler, &cluster.events);
        for count in [1000, u32::MAX] {
            let event = cluster.event("a", count, "bad", 0);
            cluster.write(event, &[&event_tracker]);
            let (key, until) = (&cluster.recycler.meta.key, Version(cluster.version));
            let known = event_tracker.occurrences(key, NOTHING, until).unwrap();
            assert!(known.occurrences.iter().all(|one| one.times == most), "{known:?}");
            assert_eq!(cluster.count(&event_tracker), u64::from(most), "{count_by} {count}");
        }
    }
}

#[test]
fn an_old_event_under_a_new_uid_counts_once() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    track(&event_tracker, &cluster.recycler, &cluster.events);
    let event = cluster.event("a", 51, "bad", 2 * 3600);
    cluster.write(event, &[&event_tracker]);
    assert_eq!(cluster.count(&event_tracker), 1);
    let event = cluster.event("b", 51, "bad", 60);
    cluster.write(event, &[&event_tracker]);
    assert_eq!(cluster.count(&event_tracker), 52);
}

#[test]
fn after_a_restart_what_is_stored_does_not_count_again() {
    let (mut cluster, first) = (Cluster::new(), event_tracker());
    track(&first, &cluster.recycler, &cluster.events);
    for name in ["a", "b"] {
        let event = cluster.event(name, 3, "bad", 0);
        cluster.write(event, &[&first]);
    }
    cluster.store(&first, &[&first]);
    // While no process runs, one Event grows by an unknown number, and another one is new.
    let again = cluster.event("b", 9, "bad", 60);
    cluster.write(again, &[]);
    let new = cluster.event("c", 2, "bad", 0);
    cluster.write(new, &[]);
    let second = event_tracker();
    track(&second, &cluster.recycler, &cluster.events);
    assert_eq!(cluster.count(&second), 6 + 1 + 2);
}

#[test]
fn a_new_recycler_sees_the_events_of_its_window() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    for (name, first) in [("a", 0), ("b", 120), ("c", 3 * 3600)] {
        let event = cluster.event(name, 5, "bad", first);
        cluster.write(event, &[]);
    }
    track(&event_tracker, &cluster.recycler, &cluster.events);
    assert_eq!(cluster.count(&event_tracker), 5 + 5 + 1);
}

#[test]
fn another_spec_begins_anew() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    for (name, message) in [("a", "bad"), ("b", "worse"), ("c", "worse")] {
        let event = cluster.event(name, 1, message, 0);
        cluster.write(event, &[]);
    }
    track(&event_tracker, &cluster.recycler, &cluster.events);
    cluster.store(&event_tracker, &[&event_tracker]);
    assert_eq!(cluster.count(&event_tracker), 1);
    let spec = serde_json::json!({"searchTerms": ["worse"], "countBy": "Events"});
    cluster.recycler.spec = Some(Arc::new(serde_json::from_value(spec).unwrap()));
    cluster.recycler.generation = 2;
    track(&event_tracker, &cluster.recycler, &cluster.events);
    assert_eq!(cluster.count(&event_tracker), 2);
}

#[test]
fn recyclers_do_not_see_each_other() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    track(&event_tracker, &cluster.recycler, &cluster.events);
    let mut other = cluster.recycler.clone();
    other.meta = meta("other", 2);
    track(&event_tracker, &other, &cluster.events);
    let event = cluster.event("a", 2, "bad", 0);
    cluster.write(event, &[&event_tracker]);
    for key in [&cluster.recycler.meta.key, &other.meta.key] {
        let known = event_tracker.occurrences(key, Version(0), Version(cluster.version)).unwrap();
        assert_eq!(known.occurrences.len(), 1, "{key}");
    }
    event_tracker.forget(&other.meta.key);
    assert!(event_tracker.occurrences(&other.meta.key, Version(0), Version(99)).is_none());
}

#[test]
fn old_events_are_not_noted_and_notes_are_bounded() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    track(&event_tracker, &cluster.recycler, &cluster.events);
    cluster.now -= SignedDuration::from_hours(2);
    for number in 0..3 * MANY {
        let event = cluster.event(&number.to_string(), 1, "bad", 0);
        let version = event.meta.version;
        event_tracker.event_changed(None, Some(&Entry::Known(event)), version);
    }
    assert!(event_tracker.tracked.lock().values().all(|one| one.noted.is_empty()));
}

/// An Event grows from three to five and nine; a mark is stored, and a list brings the nine.
#[test]
fn growth_from_a_list_counts_once_where_the_mark_is_within_it() {
    for (missed, mark, counts) in [
        // No mark was stored since it was known: all of it is new.
        (0, 13, 6),
        // The five are stored, and how much of the six that is cannot be seen.
        (0, 14, 1),
        (0, 15, 0),
        // It was heard of until the five.
        (1, 14, 4),
    ] {
        let mut cluster = Cluster::new();
        let mut replica = Replica::new(&cluster);
        for (version, count) in [(13, 3), (14, 5), (15, 9)] {
            cluster.version = version - 1;
            let event = cluster.event("a", count, "bad", 60);
            replica.deaf = version > 13 + missed;
            replica.hear(&event);
            cluster.write(event, &[]);
        }
        replica.list(&cluster);
        let known = replica.event_tracker.occurrences(
            &cluster.recycler.meta.key,
            Version(mark),
            Version(99),
        );
        let counted: u32 = known.unwrap().occurrences.iter().map(|one| one.times).sum();
        assert_eq!(counted, counts, "{missed} {mark}");
    }
}

#[test]
fn an_unknown_event_from_a_list_counts_once_if_it_may_be_stored() {
    for (first, mark, counts) in [(60, 0, 9), (60, 20, 1), (0, 20, 9)] {
        let mut cluster = Cluster::new();
        let mut replica = Replica::new(&cluster);
        replica.position = NOTHING;
        cluster.version = 30;
        let event = cluster.event("a", 9, "bad", first);
        cluster.write(event, &[]);
        replica.list(&cluster);
        let known = replica.event_tracker.occurrences(
            &cluster.recycler.meta.key,
            Version(mark),
            Version(99),
        );
        let counted: u32 = known.unwrap().occurrences.iter().map(|one| one.times).sum();
        assert_eq!(counted, counts, "{first} {mark}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    New,
    Again(usize, u32),
    Store,
    ChangePlaces,
    /// The follower leads, and a new follower starts.
    Die,
    Break,
    List,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::New),
        3 => (0usize..8, 1u32..4).prop_map(|(which, times)| Step::Again(which, times)),
        2 => Just(Step::Store),
        1 => Just(Step::ChangePlaces),
        1 => Just(Step::Die),
        1 => Just(Step::Break),
        1 => Just(Step::List),
    ]
}

#[test]
fn events_of_an_unfinished_list_are_incomplete() {
    let (mut cluster, event_tracker) = (Cluster::new(), event_tracker());
    track(&event_tracker, &cluster.recycler, &cluster.events);
    let before = Version(cluster.version);
    let event = cluster.event("e", 1, "bad", 0);
    cluster.write(event, &[&event_tracker]);
    let key = &cluster.recycler.meta.key;
    for (mark, until, noted, ahead) in [
        (Version(0), before, 0, true),
        (Version(0), Version(cluster.version), 1, false),
        (Version(cluster.version), before, 0, false),
    ] {
        let known = event_tracker.occurrences(key, mark, until).unwrap();
        assert_eq!((known.occurrences.len(), known.incomplete), (noted, ahead));
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_counted_twice_while_one_of_two_lives(steps in prop::collection::vec(step(), 0..60)) {
        let mut cluster = Cluster::new();
        let (mut leader, mut follower) = (Replica::new(&cluster), Replica::new(&cluster));
        (leader.knows_all, follower.knows_all) = (true, true);
        let mut total = 0u64;
        for step in steps {
            let changed = match step {
                Step::New => {
                    total += 1;
                    let name = cluster.events.len().to_string();
                    Some(cluster.event(&name, 1, "bad", 0))
                }
                Step::Again(which, times) => {
                    let known = cluster.events.get(which).cloned();
                    known.map(|known| {
                        total += u64::from(times);
                        let count = known.count + times;
                        cluster.event(&known.meta.key.name, count, "bad", 60)
                    })
                }
                Step::Store => {
                    // The count of the new leader is the reference from now on.
                    total = cluster.count(&leader.event_tracker);
                    cluster.store(&leader.event_tracker, &[&leader.event_tracker, &follower.event_tracker]);
                    (leader.knows_all, follower.knows_all) = (true, true);
                    None
                }
                Step::ChangePlaces | Step::Die => {
                    // A new leader lists first.
                    follower.list(&cluster);
                    std::mem::swap(&mut leader, &mut follower);
                    if matches!(step, Step::Die) {
                        follower = Replica::new(&cluster);
                    }
                    None
                }
                Step::Break => {
                    follower.deaf = true;
                    None
                }
                Step::List => {
                    follower.list(&cluster);
                    None
                }
            };
            if let Some(event) = changed {
                leader.hear(&event);
                follower.hear(&event);
                cluster.write(event, &[]);
            }
            // Only those who saw an Event before know how often it has happened again; from all others it counts once.
            let count = cluster.count(&leader.event_tracker);
            prop_assert!(count <= total && count >= cluster.at_least(), "{count} of {total}");
            if leader.knows_all {
                prop_assert_eq!(count, total);
            }
        }
    }

    #[test]
    fn events_that_happen_once_survive_any_restart(steps in prop::collection::vec(0u8..4, 0..60)) {
        let (mut cluster, mut leader) = (Cluster::new(), event_tracker());
        track(&leader, &cluster.recycler, &cluster.events);
        let mut total = 0;
        for step in steps {
            match step {
                0 | 1 => {
                    let name = cluster.events.len().to_string();
                    let event = cluster.event(&name, 1, "bad", 0);
                    let watching: &[&EventTracker] = if step == 0 { &[&leader] } else { &[] };
                    cluster.write(event, watching);
                    total += 1;
                    if step == 1 {
                        leader = event_tracker();
                        track(&leader, &cluster.recycler, &cluster.events);
                    }
                }
                2 => cluster.store(&leader, &[&leader]),
                _ => {
                    leader = event_tracker();
                    track(&leader, &cluster.recycler, &cluster.events);
                }
            }
            prop_assert_eq!(cluster.count(&leader), total);
        }
    }
}

//! Machines and instances come and go, and each view of them is stale by a time of its own: no Machine loses its
//! instance, and no foreign instance and none with a Node is deleted.

use std::collections::BTreeMap;

use machinist_domain::key::ObjectKey;
use machinist_provider::cloud::ownership::TAG_CLUSTER;
use machinist_provider::cloud::{InstanceState, Owned};
use proptest::prelude::*;

use super::samples::{CLUSTER, RULES, at, machine, node, owned, seconds, uid};
use super::*;

const HOURS: i64 = 4 * 3600;

/// A create attempt, in seconds.
#[derive(Debug, Clone)]
struct Attempt {
    /// From the stored launch to the instance.
    takes: i64,
    /// From the instance until the Machine names it; it may never do so.
    named_after: Option<i64>,
    /// From the instance until its Node registers.
    node_after: Option<i64>,
    runs: bool,
    foreign: bool,
}

#[derive(Debug, Clone)]
struct Life {
    created: i64,
    /// The first begins with the Machine, the next ones follow after a pause.
    attempts: Vec<(i64, Attempt)>,
    /// When the Machine went without its instances: its finalizer was removed by hand.
    lost: Option<i64>,
}

#[derive(Debug, Clone)]
struct World {
    lives: Vec<Life>,
    /// When Machines, Nodes and instances were read.
    read: [i64; 3],
    first_seen: Option<i64>,
    seen_before: bool,
    doubt: bool,
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let time = || proptest::option::weighted(0.7, 0..HOURS / 8);
    (prop_oneof![Just(0), 0..60_i64], time(), time(), any::<bool>(), proptest::bool::weighted(0.1))
        .prop_map(|(takes, named_after, node_after, runs, foreign)| Attempt {
            takes,
            named_after,
            node_after,
            runs,
            foreign,
        })
}

fn life() -> impl Strategy<Value = Life> {
    let attempts = proptest::collection::vec((0..HOURS / 4, attempt()), 1..4);
    (0..HOURS, attempts, proptest::option::of(0..HOURS))
        .prop_map(|(created, attempts, lost)| Life { created, attempts, lost })
}

fn world() -> impl Strategy<Value = World> {
    (
        proptest::collection::vec(life(), 1..12),
        [0..HOURS, 0..HOURS, 0..HOURS],
        proptest::option::of(0..HOURS),
        any::<bool>(),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(lives, read, first_seen, seen_before, doubt)| World {
            lives,
            read,
            first_seen,
            seen_before,
            doubt,
        })
}

impl Life {
    /// When each attempt was stored, and when its instance was launched.
    fn launches(&self) -> Vec<(i64, i64, &Attempt)> {
        let mut stored = self.created;
        let mut launches = Vec::new();
        for (number, (pause, attempt)) in self.attempts.iter().enumerate() {
            stored += if number == 0 { 0 } else { *pause };
            launches.push((stored, stored + attempt.takes, attempt));
            stored += attempt.takes;
        }
        launches.retain(|(stored, _, _)| self.lost.is_none_or(|lost| *stored <= lost));
        launches
    }

    fn exists(&self, time: i64) -> bool {
        self.created <= time && self.lost.is_none_or(|lost| lost > time)
    }

    /// The number of the last stored attempt, and that of the instance that the Machine names.
    fn state(&self, time: i64) -> (usize, Option<usize>) {
        let launches = self.launches();
        let stored = launches.iter().filter(|(stored, _, _)| *stored <= time).count();
        let mut named = launches.iter().enumerate().filter(|(_, (_, launched, attempt))| {
            attempt.named_after.is_some_and(|after| launched + after <= time)
        });
        (stored, named.next_back().map(|(number, _)| number + 1))
    }
}

fn id(life: usize, attempt: usize) -> String {
    format!("{life}x{attempt}")
}

impl World {
    fn view(&self) -> View {
        let [machines, nodes, _] = self.read;
        let mut view = super::samples::view(Vec::new());
        view.as_of = at(self.read.into_iter().min().unwrap());
        for (number, life) in self.lives.iter().enumerate() {
            if life.exists(machines) {
                let (stored, named) = life.state(machines);
                let named = named.map(|attempt| id(number, attempt));
                view.machines.push(KnownMachine {
                    attempt: u32::try_from(stored).ok().filter(|stored| *stored > 0),
                    ..machine(&number.to_string(), named.as_deref())
                });
            }
            for (attempt, (_, launched, is)) in life.launches().into_iter().enumerate() {
                if is.node_after.is_some_and(|after| launched + after <= nodes) {
                    let id = format!("test:///zone/{}", id(number, attempt + 1));
                    view.nodes.push(node("n", Some(&id)));
                }
            }
        }
        if self.doubt {
            let key = ObjectKey::new("ns", "broken");
            view.undecodable.push((key.clone(), uid("broken")));
            view.doubts.push(Doubt::Undecodable { kind: "Machine", key });
        }
        view
    }

    /// The listed instances, with life and attempt.
    fn listed(&self) -> Vec<(usize, usize, Owned)> {
        let mut listed = Vec::new();
        for (number, life) in self.lives.iter().enumerate() {
            for (at_place, (_, launched, is)) in life.launches().into_iter().enumerate() {
                if launched > self.read[2] {
                    continue;
                }
                let attempt = at_place + 1;
                let mut one = owned(&id(number, attempt), &number.to_string());
                one.attempt = u32::try_from(attempt).ok();
                one.created = Some(at(launched));
                if !is.runs {
                    one.instance.state = InstanceState::Pending;
                }
                if is.foreign {
                    one.tags.insert(TAG_CLUSTER.to_owned(), format!("not {CLUSTER}"));
                }
                listed.push((number, attempt, one));
            }
        }
        listed
    }
}

fn check(world: &World) -> Result<(), TestCaseError> {
    let (view, listed) = (world.view(), world.listed());
    let first_seen = world.first_seen.map(at);
    let seen: Vec<_> = listed.iter().map(|(_, _, owned)| Sighting { owned, first_seen }).collect();
    let rules = Rules { seen_before: world.seen_before, ..RULES };
    let verdicts = judge(&seen, &view, rules);
    prop_assert_eq!(verdicts.len(), listed.len());
    let latest = world.read.into_iter().max().unwrap();
    let mut collected = 0;
    for ((number, attempt, owned), verdict) in listed.iter().zip(&verdicts) {
        if !verdict.is_collectable() {
            continue;
        }
        collected += 1;
        let life = &world.lives[*number];
        // The truth, at any time since.
        for now in [latest, latest + HOURS * 2] {
            if life.exists(now) {
                let (stored, named) = life.state(now);
                prop_assert!(*attempt < stored, "the last attempt: {owned:?}");
                prop_assert!(named != Some(*attempt), "the instance of its Machine: {owned:?}");
                prop_assert!(named.is_some(), "the Machine has no other instance: {owned:?}");
            }
        }
        let launch = life.launches()[attempt - 1].2.clone();
        prop_assert!(!launch.foreign, "foreign: {owned:?}");
        prop_assert!(!world.doubt, "in doubt: {owned:?}");
        let provider_id = Some(&owned.instance.provider_id);
        prop_assert!(view.nodes.iter().all(|node| node.provider_id.as_ref() != provider_id));
        let age = view.as_of.duration_since(owned.created.unwrap());
        prop_assert!(age.unsigned_abs() >= GRACE && age.is_positive(), "young: {owned:?}");
        let again = first_seen.is_some_and(|first| first < view.as_of);
        prop_assert!(!world.seen_before || again, "seen once: {owned:?}");
    }
    prop_assert!(collected <= 5.min((listed.len() / 10).max(1)), "{collected} at once");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_machine_loses_its_instance_however_stale_the_views_are(world in world()) {
        check(&world)?;
    }
}

/// A property of nothing would hold, too.
#[test]
fn worlds_of_the_property_have_orphans_of_every_kind() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut codes: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for _ in 0..1000 {
        let world = world().new_tree(&mut runner).unwrap().current();
        let listed = world.listed();
        let owned: Vec<_> = listed.iter().map(|(_, _, owned)| owned.clone()).collect();
        let first_seen = world.first_seen.map(at);
        let seen: Vec<_> = owned.iter().map(|owned| Sighting { owned, first_seen }).collect();
        let rules = Rules { seen_before: world.seen_before, grace: seconds(1800) };
        for verdict in judge(&seen, &world.view(), rules) {
            let duplicate = matches!(verdict, Verdict::Orphan(Origin::Duplicate { .. }, _));
            *codes.entry((duplicate, verdict.code())).or_default() += 1;
        }
    }
    for duplicate in [false, true] {
        for code in ["HasNode", "Blocked", "Young", "SeenOnce", "Collectable"] {
            assert!(codes.contains_key(&(duplicate, code)), "{duplicate} {code}: {codes:?}");
        }
    }
    for code in ["BelongsToMachine", "Foreign", "OverLimit"] {
        assert!(codes.contains_key(&(false, code)), "{code}: {codes:?}");
    }
}

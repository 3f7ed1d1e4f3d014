mod news;
mod restored;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinist_domain::key::Uid;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Thing(Meta);

impl Stored for Thing {
    fn meta(&self) -> &Meta {
        &self.0
    }
}

fn meta(name: usize, version: u64) -> Meta {
    Meta { key: key(name), uid: Uid("u".into()), version: Version(version), deleting: false }
}

fn key(name: usize) -> ObjectKey {
    ObjectKey::new("ns", name.to_string())
}

fn thing(name: usize, version: u64) -> Entry<Thing> {
    Entry::Known(Arc::new(Thing(meta(name, version))))
}

fn thing_with(uid: &str, name: usize, version: u64) -> Entry<Thing> {
    Entry::Known(Arc::new(Thing(Meta { uid: Uid(uid.into()), ..meta(name, version) })))
}

fn uid(store: &Store<Thing>, name: usize) -> Option<Uid> {
    store.get(&key(name)).map(|entry| entry.meta().uid.clone())
}

fn version(store: &Store<Thing>, name: usize) -> Option<u64> {
    store.get(&key(name)).map(|entry| entry.meta().version.0)
}

fn list(store: &Store<Thing>, objects: &[(usize, u64)], at: u64) -> Listing<Thing> {
    let mut listing = store.listing();
    for (name, version) in objects {
        store.listed(&mut listing, &thing(*name, *version), Version(at));
    }
    store.listing_done(&mut listing, Version(at));
    listing
}

#[test]
fn answer_to_a_write_is_visible_at_once_and_survives_late_events() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.written(&thing(1, 9));
    store.watched(&thing(1, 7));
    assert_eq!(version(&store, 1), Some(9));
    store.watched(&thing(1, 9));
    store.watched(&thing(1, 11));
    assert_eq!(version(&store, 1), Some(11));
}

#[test]
fn answer_after_the_deletion_does_not_restore_the_object() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.watched_deletion(&meta(1, 8));
    store.written(&thing(1, 7));
    assert_eq!(version(&store, 1), None);
}

#[test]
fn panicking_subscriber_does_not_keep_others_from_the_change() {
    let (store, calls) = (Store::new(), Arc::new(AtomicUsize::new(0)));
    store.subscribe(|_: &Change<'_, Thing>| panic!("a bug"));
    let counted = Arc::clone(&calls);
    store.subscribe(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let written = catch_unwind(AssertUnwindSafe(|| store.written(&thing(1, 9))));
    assert!(written.is_err(), "the task of the writer reports it");
    assert_eq!((calls.load(Ordering::Relaxed), version(&store, 1)), (1, Some(9)));
    // No lock is held.
    assert!(catch_unwind(AssertUnwindSafe(|| store.watched(&thing(1, 11)))).is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn list_keeps_newer_objects() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.written(&thing(2, 9));
    list(&store, &[(1, 5)], 8);
    assert_eq!(version(&store, 2), Some(9));
    list(&store, &[(1, 5)], 10);
    assert_eq!(version(&store, 2), None, "the list is newer now, and does not have it");
}

#[test]
fn list_corrects_missed_events() {
    let store = Store::new();
    list(&store, &[(1, 5), (2, 5)], 5);
    let listing = list(&store, &[(1, 7), (3, 6)], 9);
    assert_eq!(listing.repairs, 3);
    assert_eq!(
        [version(&store, 1), version(&store, 2), version(&store, 3)],
        [Some(7), None, Some(6)]
    );
}

#[test]
fn object_of_an_old_list_is_unconfirmed() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.watched_deletion(&meta(1, 12));
    let listing = list(&store, &[(1, 5)], 10);
    assert_eq!((listing.unconfirmed, version(&store, 1)), (vec![key(1)], None));
}

#[test]
fn lost_answer_makes_a_key_uncertain_until_a_live_read_or_a_list() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.mark_uncertain(&key(1));
    store.watched(&thing(1, 6));
    assert!(store.is_uncertain(&key(1)), "a watch event may be older than the lost write");
    assert!(store.read_live(&key(1), Some(&thing(1, 7)), store.before_live_read(&key(1))));
    assert!(!store.is_uncertain(&key(1)));
    assert_eq!(version(&store, 1), Some(7));
    store.mark_uncertain(&key(1));
    assert!(store.read_live(&key(1), None, store.before_live_read(&key(1))));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (None, false));
    // A list settles it as well, if it started later.
    let mut earlier = store.listing();
    store.mark_uncertain(&key(1));
    store.listing_done(&mut earlier, Version(8));
    assert!(store.is_uncertain(&key(1)));
    list(&store, &[(1, 9)], 9);
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (Some(9), false));
}

#[test]
fn deletion_counts_from_its_answer_on() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    let mut earlier = store.listing();
    let before = store.before_live_read(&key(1));
    store.deleted(&meta(1, 5), true);
    assert_eq!(version(&store, 1), None);
    store.watched(&thing(1, 6));
    assert_eq!(version(&store, 1), None, "an event from before the deletion");
    store.written(&thing(1, 9));
    assert_eq!(version(&store, 1), None, "an answer from before the deletion");
    assert!(!store.read_live(&key(1), Some(&thing(1, 9)), before), "a read from before it");
    store.listed(&mut earlier, &thing(1, 6), Version(6));
    store.listing_done(&mut earlier, Version(6));
    assert_eq!(version(&store, 1), None, "a list that was begun before it");
    store.watched_deletion(&meta(1, 10));
    assert!(store.inner.read().tombstones.is_empty(), "the watch has told");
}

#[test]
fn tombstone_lasts_until_a_later_list_and_covers_one_uid() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.deleted(&meta(1, 5), true);
    store.written(&thing_with("another", 1, 8));
    assert_eq!((version(&store, 1), uid(&store, 1)), (Some(8), Some(Uid("another".into()))));
    // The deletion of the first does not affect the second.
    store.deleted(&meta(1, 5), true);
    assert_eq!(version(&store, 1), Some(8));
    let mut listing = store.listing();
    store.listed(&mut listing, &thing_with("another", 1, 8), Version(9));
    store.listing_done(&mut listing, Version(9));
    assert!(store.inner.read().tombstones.is_empty());
    store.watched(&thing(1, 6));
    assert_eq!(version(&store, 1), Some(8));
}

#[test]
fn deletion_seen_by_the_watch_first_leaves_no_tombstone() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.watched_deletion(&meta(1, 7));
    store.deleted(&meta(1, 5), true);
    assert!(store.inner.read().tombstones.is_empty());
    // An object that was never cached may still arrive.
    store.deleted(&meta(2, 6), false);
    store.watched(&thing(2, 8));
    assert_eq!(version(&store, 2), None);
}

#[test]
fn older_event_does_not_restore_an_object_that_a_live_read_missed() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    assert!(store.read_live(&key(1), None, store.before_live_read(&key(1))));
    store.watched(&thing(1, 7));
    assert_eq!(version(&store, 1), None);
    store.watched_deletion(&meta(1, 8));
    store.watched(&thing_with("another", 1, 9));
    assert_eq!(version(&store, 1), Some(9));
}

#[test]
fn late_live_read_does_not_undo_watch_events() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    // Read as deleted, but recreated before the answer is stored.
    store.mark_uncertain(&key(1));
    let before = store.before_live_read(&key(1));
    store.watched_deletion(&meta(1, 6));
    store.watched(&thing(1, 8));
    assert!(!store.read_live(&key(1), None, before));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (Some(8), true));
    // Read as existing, but deleted before the answer is stored.
    let before = store.before_live_read(&key(1));
    store.watched_deletion(&meta(1, 9));
    assert!(!store.read_live(&key(1), Some(&thing(1, 8)), before));
    assert_eq!(version(&store, 1), None);
    // Unknown, read as existing, and the watch advanced meanwhile.
    let before = store.before_live_read(&key(2));
    store.bookmark(Version(20));
    assert!(!store.read_live(&key(2), Some(&thing(2, 15)), before));
    assert!(store.read_live(&key(2), Some(&thing(2, 15)), store.before_live_read(&key(2))));
    assert_eq!(version(&store, 2), Some(15));
    // Unknown, and the watch advanced to a version before that of the object.
    let before = store.before_live_read(&key(3));
    store.bookmark(Version(30));
    assert!(store.read_live(&key(3), Some(&thing(3, 31)), before));
    assert_eq!(version(&store, 3), Some(31));
}

#[test]
fn subscriber_gets_existing_objects_and_each_change_once() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    store.subscribe(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    store.watched(&thing(1, 6));
    store.watched(&thing(1, 6));
    store.watched_deletion(&meta(1, 7));
    assert_eq!(heard.load(Ordering::Relaxed), 3);
}

/// Written (true) or deleted.
type History = Vec<(usize, bool)>;

/// Each recreation has another uid.
fn truth(history: &History, at: usize) -> Vec<Meta> {
    let mut objects = BTreeMap::new();
    for (index, (name, exists)) in history.iter().take(at).enumerate() {
        if *exists {
            let version = Version(index as u64 + 1);
            let uid = Uid(format!("{name}-{index}").into());
            let born = || Meta { uid, ..meta(*name, version.0) };
            objects.entry(*name).or_insert_with(born).version = version;
        } else {
            objects.remove(name);
        }
    }
    objects.into_values().collect()
}

fn known(meta: Meta) -> Entry<Thing> {
    Entry::Known(Arc::new(Thing(meta)))
}

#[derive(Debug, Clone)]
enum Arrival {
    Watch,
    List(prop::sample::Index),
    /// The late answer to a write or deletion.
    Answer(prop::sample::Index),
    Live(usize),
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = prop_oneof![
        4 => Just(Arrival::Watch),
        1 => any::<prop::sample::Index>().prop_map(Arrival::List),
        3 => any::<prop::sample::Index>().prop_map(Arrival::Answer),
        1 => (0..3_usize).prop_map(Arrival::Live),
    ];
    prop::collection::vec(arrival, 0..60)
}

struct Scene {
    store: Store<Thing>,
    history: History,
    watched: usize,
    /// The latest answered deletion: a list that starts later is not older.
    floor: usize,
    gone: HashSet<Uid>,
}

impl Scene {
    fn new(history: History) -> Self {
        let scene =
            Self { store: Store::new(), history, watched: 0, floor: 0, gone: HashSet::new() };
        scene.list(0);
        scene
    }

    fn now(&self) -> Vec<Meta> {
        truth(&self.history, self.history.len())
    }

    fn object_at(&self, name: usize, at: usize) -> Option<Meta> {
        truth(&self.history, at).into_iter().find(|object| object.key == key(name))
    }

    fn list(&self, at: usize) {
        let mut listing = self.store.listing();
        let version = Version(at as u64);
        for object in truth(&self.history, at) {
            self.store.listed(&mut listing, &known(object), version);
        }
        self.store.listing_done(&mut listing, version);
        for key in listing.unconfirmed {
            self.read(&key);
        }
    }

    fn read(&self, key: &ObjectKey) {
        let entry = self.now().into_iter().find(|object| object.key == *key).map(known);
        self.store.read_live(key, entry.as_ref(), self.store.before_live_read(key));
    }

    fn watch(&mut self) {
        let Some((name, exists)) = self.history.get(self.watched).copied() else { return };
        let before = self.object_at(name, self.watched);
        self.watched += 1;
        match (self.object_at(name, self.watched), before) {
            (Some(object), _) => self.store.watched(&known(object)),
            // A deletion has a version of its own.
            (None, Some(object)) => {
                let version = Version(self.watched as u64);
                self.store.watched_deletion(&Meta { version, ..object });
            }
            (None, None) => assert!(!exists),
        }
    }

    fn answer(&mut self, at: usize) {
        let name = self.history[at].0;
        match (self.object_at(name, at + 1), self.object_at(name, at)) {
            (Some(object), _) => self.store.written(&known(object)),
            (None, Some(object)) => {
                let seen = uid(&self.store, name).as_ref() == Some(&object.uid);
                self.store.deleted(&object, seen);
                self.floor = self.floor.max(at + 1);
                self.gone.insert(object.uid);
            }
            (None, None) => {}
        }
    }
}

proptest! {
    /// No object becomes older, no deleted one returns.
    #[test]
    fn store_never_regresses_and_converges(
        history in prop::collection::vec((0..3_usize, prop::bool::weighted(0.7)), 1..25),
        arrivals in arrivals(),
    ) {
        let mut scene = Scene::new(history);
        for arrival in arrivals {
            let before: Vec<_> = (0..3).map(|name| version(&scene.store, name)).collect();
            match arrival {
                Arrival::Watch => scene.watch(),
                Arrival::List(index) => {
                    let at = index.index(scene.history.len() + 1).max(scene.floor);
                    scene.list(at);
                }
                Arrival::Answer(index) => scene.answer(index.index(scene.history.len())),
                Arrival::Live(name) => scene.read(&key(name)),
            }
            for (name, before) in before.into_iter().enumerate() {
                if let (Some(before), Some(after)) = (before, version(&scene.store, name)) {
                    prop_assert!(after >= before, "object {} went from {} to {}", name, before, after);
                }
                let back = uid(&scene.store, name).filter(|uid| scene.gone.contains(uid));
                prop_assert_eq!(back, None);
            }
        }
        while scene.watched < scene.history.len() {
            scene.watch();
        }
        for name in 0..3 {
            let expected = scene.object_at(name, scene.history.len());
            prop_assert_eq!(version(&scene.store, name), expected.map(|object| object.version.0));
        }
    }
}

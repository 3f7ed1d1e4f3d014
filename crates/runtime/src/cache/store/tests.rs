//! The store under every order in which watch, lists, answers and live reads can overtake each other.

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

fn version(store: &Store<Thing>, name: usize) -> Option<u64> {
    store.get(&key(name)).map(|entry| entry.meta().version.0)
}

fn list(store: &Store<Thing>, objects: &[(usize, u64)], at: u64) -> Listing {
    let mut listing = store.listing();
    for (name, version) in objects {
        store.listed(&mut listing, &thing(*name, *version), Version(at));
    }
    store.listing_done(&mut listing, Version(at));
    listing
}

#[test]
fn an_answer_to_a_write_is_seen_at_once_and_a_late_watch_does_not_undo_it() {
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
fn an_answer_that_comes_after_the_deletion_raises_no_ghost() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.watched_deletion(&meta(1, 8));
    store.written(&thing(1, 7));
    assert_eq!(version(&store, 1), None);
}

#[test]
fn an_object_newer_than_the_list_is_not_dropped_by_it() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.written(&thing(2, 9));
    list(&store, &[(1, 5)], 8);
    assert_eq!(version(&store, 2), Some(9));
    list(&store, &[(1, 5)], 10);
    assert_eq!(version(&store, 2), None, "the list is newer now, and does not have it");
}

#[test]
fn what_the_watch_hid_is_repaired_by_a_list() {
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
fn an_object_that_may_have_been_deleted_since_the_list_is_doubtful() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.watched_deletion(&meta(1, 12));
    let listing = list(&store, &[(1, 5)], 10);
    assert_eq!((listing.doubtful, version(&store, 1)), (vec![key(1)], None));
}

#[test]
fn a_lost_answer_makes_a_key_uncertain_until_a_live_read() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    store.mark_uncertain(&key(1));
    store.watched(&thing(1, 6));
    assert!(store.is_uncertain(&key(1)), "a watch event may be older than the lost write");
    assert!(store.read_live(&key(1), Some(&thing(1, 7)), store.glimpse(&key(1))));
    assert!(!store.is_uncertain(&key(1)));
    assert_eq!(version(&store, 1), Some(7));
    store.mark_uncertain(&key(1));
    assert!(store.read_live(&key(1), None, store.glimpse(&key(1))));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (None, false));
}

#[test]
fn a_live_read_that_comes_late_does_not_undo_what_the_watch_told_meanwhile() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    // Read as gone, but created again before the answer is looked at.
    store.mark_uncertain(&key(1));
    let before = store.glimpse(&key(1));
    store.watched_deletion(&meta(1, 6));
    store.watched(&thing(1, 8));
    assert!(!store.read_live(&key(1), None, before));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (Some(8), true));
    // Read as there, but deleted before the answer is looked at.
    let before = store.glimpse(&key(1));
    store.watched_deletion(&meta(1, 9));
    assert!(!store.read_live(&key(1), Some(&thing(1, 8)), before));
    assert_eq!(version(&store, 1), None);
    // Unknown, read as there, and the watch went on meanwhile: nobody can tell.
    let before = store.glimpse(&key(2));
    store.bookmark(Version(20));
    assert!(!store.read_live(&key(2), Some(&thing(2, 15)), before));
    assert!(store.read_live(&key(2), Some(&thing(2, 15)), store.glimpse(&key(2))));
    assert_eq!(version(&store, 2), Some(15));
}

#[test]
fn a_cluster_that_was_restored_is_learnt_anew() {
    let store = Store::new();
    list(&store, &[(1, 50)], 60);
    store.rewind();
    list(&store, &[(1, 7)], 9);
    assert_eq!(version(&store, 1), Some(7));
    store.watched(&thing(1, 10));
    assert_eq!(version(&store, 1), Some(10));
}

#[test]
fn a_subscriber_hears_of_everything_that_is_there_and_of_every_change_once() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    store.subscribe(Box::new(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    assert_eq!(heard.load(Ordering::Relaxed), 1);
    store.watched(&thing(1, 6));
    store.watched(&thing(1, 6));
    store.watched_deletion(&meta(1, 7));
    assert_eq!(heard.load(Ordering::Relaxed), 3);
}

/// What happened in the cluster, one version after the other: an object was written, or deleted.
type History = Vec<(usize, bool)>;

/// The truth at a version: name and version of every object that exists.
fn truth(history: &History, at: usize) -> Vec<(usize, u64)> {
    let mut objects = std::collections::BTreeMap::new();
    for (index, (name, exists)) in history.iter().take(at).enumerate() {
        if *exists {
            objects.insert(*name, index as u64 + 1);
        } else {
            objects.remove(name);
        }
    }
    objects.into_iter().collect()
}

/// One thing that reaches the store.
#[derive(Debug, Clone)]
enum Arrival {
    /// The watch moves on by one.
    Watch,
    /// A list, as of some version that is not in the future of the cluster.
    List(prop::sample::Index),
    /// The answer to a write of ours, however late.
    Answer(prop::sample::Index),
    /// A live read, now.
    Live(usize),
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival = prop_oneof![
        4 => Just(Arrival::Watch),
        1 => any::<prop::sample::Index>().prop_map(Arrival::List),
        2 => any::<prop::sample::Index>().prop_map(Arrival::Answer),
        1 => (0..3_usize).prop_map(Arrival::Live),
    ];
    prop::collection::vec(arrival, 0..60)
}

proptest! {
    /// However watch, lists, answers and live reads overtake each other: no object ever becomes older, and when the watch has told everything
    /// and the doubtful are read, the store is the truth.
    #[test]
    fn the_store_never_goes_back_and_ends_up_right(
        history in prop::collection::vec((0..3_usize, prop::bool::weighted(0.7)), 1..25),
        arrivals in arrivals(),
    ) {
        let store = Store::new();
        list(&store, &truth(&history, 0), 0);
        let mut watched = 0;
        let step = |watched: &mut usize| {
            if let Some((name, exists)) = history.get(*watched) {
                *watched += 1;
                let at = *watched as u64;
                if *exists {
                    store.watched(&thing(*name, at));
                } else {
                    store.watched_deletion(&meta(*name, at));
                }
            }
        };
        for arrival in arrivals {
            let before: Vec<_> = (0..3).map(|name| version(&store, name)).collect();
            match arrival {
                Arrival::Watch => step(&mut watched),
                Arrival::List(index) => {
                    let at = index.index(history.len() + 1);
                    let listing = list(&store, &truth(&history, at), at as u64);
                    for doubtful in listing.doubtful {
                        let now = truth(&history, history.len());
                        let found = now.iter().find(|(name, _)| key(*name) == doubtful);
                        let entry = found.map(|(name, version)| thing(*name, *version));
                        store.read_live(&doubtful, entry.as_ref(), store.glimpse(&doubtful));
                    }
                }
                Arrival::Answer(index) => {
                    let at = index.index(history.len());
                    if let (name, true) = history[at] {
                        store.written(&thing(name, at as u64 + 1));
                    }
                }
                Arrival::Live(name) => {
                    let now = truth(&history, history.len());
                    let found = now.iter().find(|(found, _)| *found == name);
                    let entry = found.map(|(name, version)| thing(*name, *version));
                    store.read_live(&key(name), entry.as_ref(), store.glimpse(&key(name)));
                }
            }
            for (name, before) in before.into_iter().enumerate() {
                if let (Some(before), Some(after)) = (before, version(&store, name)) {
                    prop_assert!(after >= before, "object {} went from {} to {}", name, before, after);
                }
            }
        }
        while watched < history.len() {
            step(&mut watched);
        }
        for name in 0..3 {
            let now = truth(&history, history.len());
            let expected = now.iter().find(|(found, _)| *found == name).map(|(_, version)| *version);
            prop_assert_eq!(version(&store, name), expected);
        }
    }
}

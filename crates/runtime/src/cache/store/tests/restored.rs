use super::*;

/// A list of a restored cluster, before its last page.
fn begun(store: &Store<Thing>, objects: &[(usize, u64)], known: u64, at: u64) -> Listing<Thing> {
    let mut listing = store.listing();
    store.regressed(&mut listing, Version(known));
    for (name, version) in objects {
        store.listed(&mut listing, &thing(*name, *version), Version(at));
    }
    listing
}

fn versions(store: &Store<Thing>) -> [Option<u64>; 3] {
    [1, 2, 3].map(|name| version(store, name))
}

#[test]
fn content_is_replaced_at_once_after_the_last_page() {
    let store = Store::new();
    list(&store, &[(1, 50), (2, 51)], 60);
    let notified = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&notified);
    store.subscribe(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let mut listing = begun(&store, &[(1, 7), (3, 8)], 60, 9);
    assert_eq!(versions(&store), [Some(50), Some(51), None]);
    assert_eq!(notified.load(Ordering::Relaxed), 2, "those that were there, and nothing else");
    store.listing_done(&mut listing, Version(9));
    assert_eq!(versions(&store), [Some(7), None, Some(8)]);
    assert_eq!((listing.repairs, notified.load(Ordering::Relaxed)), (3, 5));
    store.watched(&thing(1, 10));
    assert_eq!(version(&store, 1), Some(10), "the watch goes on from there");
}

#[test]
fn objects_deleted_since_the_backup_exist_again() {
    let store = Store::new();
    list(&store, &[(1, 50)], 60);
    store.deleted(&meta(1, 50), true);
    let mut listing = begun(&store, &[(1, 7)], 60, 9);
    store.listing_done(&mut listing, Version(9));
    assert_eq!(version(&store, 1), Some(7));
}

#[test]
fn writes_meanwhile_are_uncertain_and_deletions_stay() {
    let store = Store::new();
    list(&store, &[(1, 50)], 59);
    store.watched(&thing_with("another", 2, 60));
    let mut listing = begun(&store, &[(1, 7)], 60, 9);
    store.listed(&mut listing, &thing_with("another", 2, 8), Version(9));
    store.written(&thing(1, 11));
    store.deleted(&Meta { uid: Uid("another".into()), ..meta(2, 8) }, true);
    assert!(store.read_live(&key(1), Some(&thing(1, 11)), store.before_live_read(&key(1))));
    store.listing_done(&mut listing, Version(9));
    assert!(store.is_uncertain(&key(1)), "the list may be older than the answer");
    assert_eq!(versions(&store), [Some(7), None, None]);
    assert!(store.read_live(&key(1), Some(&thing(1, 11)), store.before_live_read(&key(1))));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (Some(11), false));
}

#[test]
fn slower_of_two_lists_undoes_nothing() {
    let store = Store::new();
    list(&store, &[(1, 50)], 60);
    let mut slow = begun(&store, &[(1, 7)], 60, 8);
    let mut fast = begun(&store, &[(1, 7), (2, 9)], 60, 9);
    let mut slowest = store.listing();
    store.listing_done(&mut fast, Version(9));
    store.watched(&thing(1, 12));
    store.listing_done(&mut slow, Version(8));
    // The first list is in place when this one is answered.
    store.regressed(&mut slowest, Version(60));
    for entry in [thing(1, 7), thing(2, 9)] {
        store.listed(&mut slowest, &entry, Version(9));
    }
    store.listing_done(&mut slowest, Version(9));
    assert_eq!(versions(&store), [Some(12), Some(9), None]);
    assert_eq!(store.position(), Version(12));
}

/// Backups may be restored with raised revisions, so that watches end; objects keep theirs.
#[test]
fn object_of_a_backup_replaces_a_newer_one() {
    let store = Store::new();
    list(&store, &[(1, 50), (2, 51)], 60);
    store.written(&thing(2, 1005));
    let listing = list(&store, &[(1, 20), (2, 21)], 1000);
    assert_eq!((listing.repairs, version(&store, 1)), (1, Some(20)));
    assert_eq!(version(&store, 2), Some(1005), "this one is newer than the list");
}

#[test]
fn older_live_read_is_stored_unless_something_changed() {
    let store = Store::new();
    list(&store, &[(1, 50)], 60);
    let before = store.before_live_read(&key(1));
    store.watched(&thing(1, 61));
    assert!(!store.read_live(&key(1), Some(&thing(1, 20)), before));
    assert_eq!(version(&store, 1), Some(61));
    store.mark_uncertain(&key(1));
    assert!(store.read_live(&key(1), Some(&thing(1, 20)), store.before_live_read(&key(1))));
    assert_eq!((version(&store, 1), store.is_uncertain(&key(1))), (Some(20), false));
}

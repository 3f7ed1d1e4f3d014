use machinist_domain::key::Uid;
use machinist_domain::meta::Meta;
use parking_lot::Mutex;

use super::super::kind::Stored;
use super::super::store::Store;
use super::*;

#[derive(Debug)]
struct Member {
    meta: Meta,
    sets: Vec<Arc<str>>,
}

impl Stored for Member {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

fn meta(name: &str, version: u64) -> Meta {
    let (key, uid) = (ObjectKey::new("ns", name), Uid(name.into()));
    Meta { key, uid, version: Version(version), deleting: false }
}

fn member(name: &str, version: u64, sets: &[&str]) -> Entry<Member> {
    let sets = sets.iter().map(|set| Arc::from(*set)).collect();
    Entry::Known(Arc::new(Member { meta: meta(name, version), sets }))
}

fn sets_of(entry: &Entry<Member>) -> Vec<Arc<str>> {
    match entry {
        Entry::Known(member) => member.sets.clone(),
        Entry::Undecodable(_) => Vec::new(),
    }
}

fn indexed(store: &Store<Member>) -> Arc<Index> {
    let index = Arc::<Index>::default();
    store.attend(keeper(Arc::clone(&index), sets_of));
    index
}

fn names(index: &Index, term: &str) -> Vec<String> {
    index.get(term).iter().map(|key| key.name.to_string()).collect()
}

#[test]
fn index_has_existing_and_new_objects() {
    let store = Store::new();
    store.watched(&member("a", 1, &["blue"]));
    let index = indexed(&store);
    assert_eq!(names(&index, "blue"), ["a"]);
    store.watched(&member("c", 2, &["blue"]));
    // An own write that the watch has not delivered yet.
    store.written(&member("b", 9, &["blue", "red"]));
    assert_eq!(names(&index, "blue"), ["a", "b", "c"]);
    assert_eq!(names(&index, "red"), ["b"]);
    assert_eq!(names(&index, "green"), Vec::<String>::new());
}

#[test]
fn changed_object_leaves_its_old_term() {
    let store = Store::new();
    let index = indexed(&store);
    store.watched(&member("a", 1, &["blue", "red"]));
    store.written(&member("a", 5, &["red", "green"]));
    let now = ["blue", "red", "green"].map(|set| names(&index, set).len());
    assert_eq!(now, [0, 1, 1]);
    // A late watch event does not restore the old sets.
    store.watched(&member("a", 3, &["blue"]));
    assert_eq!(names(&index, "blue"), Vec::<String>::new());
}

#[test]
fn deleted_objects_leave_nothing_in_the_index() {
    let store = Store::new();
    let index = indexed(&store);
    for (name, version) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
        store.watched(&member(name, version, &["blue"]));
    }
    store.watched_deletion(&meta("a", 5));
    store.deleted(&meta("b", 2), true);
    let mut listing = store.listing();
    store.listed(&mut listing, &member("d", 4, &["blue"]), Version(6));
    store.listing_done(&mut listing, Version(6));
    assert_eq!(names(&index, "blue"), ["d"]);
    let mut restored = store.listing();
    store.regressed(&mut restored, Version(6));
    store.listing_done(&mut restored, Version(2));
    assert!(index.by_term.read().is_empty());
}

#[test]
fn attendant_can_tell_lists_from_watch_events() {
    let store = Store::new();
    let changes = Arc::<Mutex<Vec<_>>>::default();
    let noted = Arc::clone(&changes);
    store.attend(move |_, after, position| {
        noted.lock().extend(after.map(|entry| (entry.meta().version, position)));
    });
    store.watched(&member("a", 3, &[]));
    let mut listing = store.listing();
    store.listed(&mut listing, &member("a", 9, &[]), Version(10));
    store.listing_done(&mut listing, Version(10));
    store.watched(&member("b", 12, &[]));
    let at = |version, position| (Version(version), Version(position));
    assert_eq!(*changes.lock(), [at(3, 3), at(9, 3), at(12, 12)]);
}

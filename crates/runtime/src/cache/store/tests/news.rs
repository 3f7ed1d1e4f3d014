use std::sync::Arc;

use parking_lot::Mutex;

use super::*;

#[test]
fn resync_is_delivered_and_is_no_news() {
    let store = Store::new();
    list(&store, &[(1, 5)], 5);
    let heard = Arc::<Mutex<Vec<bool>>>::default();
    let news = Arc::clone(&heard);
    store.subscribe(move |change| news.lock().push(change.is_news()));
    store.notify_all();
    store.watched(&thing(1, 6));
    store.notify_all();
    store.watched_deletion(&meta(1, 7));
    store.watched(&thing(1, 8));
    assert_eq!(*heard.lock(), [true, false, true, false, true, true]);
}

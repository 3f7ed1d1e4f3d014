//! What repeats from object to object is stored once, for as long as somebody has it.
//!
//! A pool gives whoever brings a value the place where an equal one was stored first. Values that nobody has any more are swept after as many
//! questions as the pool has values, so that sweeping costs no more than asking does, and the room that they took is given back.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// So many questions are answered before the first sweep, however few values there are.
const FIRST_SWEEP: usize = 1024;

/// Values that somebody has.
pub(super) struct Pool<T: ?Sized>(Mutex<Known<T>>);

struct Known<T: ?Sized> {
    values: HashSet<Arc<T>>,
    until_sweep: usize,
}

impl<T: ?Sized> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Known { values: HashSet::new(), until_sweep: FIRST_SWEEP }))
    }
}

impl<T: ?Sized + Eq + Hash> Pool<T> {
    /// The value, in the place where it was stored first.
    pub(super) fn share(&self, value: Arc<T>) -> Arc<T> {
        self.share_with(&Arc::clone(&value), || value)
    }

    /// The same for a value that is put into a place of its own only if there is none yet.
    pub(super) fn share_with(&self, value: &T, store: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let mut known = self.0.lock();
        known.sweep_in_time();
        if let Some(found) = known.values.get(value) {
            return Arc::clone(found);
        }
        let stored = store();
        known.values.insert(Arc::clone(&stored));
        stored
    }
}

impl<T: ?Sized + Eq + Hash> Known<T> {
    fn sweep_in_time(&mut self) {
        self.until_sweep = self.until_sweep.saturating_sub(1);
        if self.until_sweep > 0 {
            return;
        }
        self.values.retain(|value| Arc::strong_count(value) > 1);
        if self.values.capacity() > 4 * self.values.len() {
            self.values.shrink_to(2 * self.values.len());
        }
        self.until_sweep = self.values.len().max(FIRST_SWEEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_place() {
        let pool = Pool::<[u8]>::default();
        let first = pool.share(Arc::from([1, 2]));
        assert!(Arc::ptr_eq(&first, &pool.share(Arc::from([1, 2]))));
        assert!(!Arc::ptr_eq(&first, &pool.share(Arc::from([2, 1]))));
    }

    #[test]
    fn what_nobody_has_any_more_is_forgotten_and_what_somebody_has_is_not() {
        let pool = Pool::<usize>::default();
        let kept = pool.share(Arc::new(0));
        for number in 1..50 * FIRST_SWEEP {
            pool.share(Arc::new(number));
        }
        let (values, capacity) = {
            let known = pool.0.lock();
            (known.values.len(), known.values.capacity())
        };
        assert!(values <= FIRST_SWEEP + 1 && capacity <= 4 * FIRST_SWEEP, "{values}, {capacity}");
        assert!(Arc::ptr_eq(&kept, &pool.share(Arc::new(0))));
    }
}

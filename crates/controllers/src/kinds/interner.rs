//! Stores equal values once: objects repeat namespaces, labels and whole templates. Machines and Nodes name each
//! other, so all kinds share one interner of strings. A sweep drops values that no object refers to any more, at most
//! once per as many lookups as there are values.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

const SWEEP_INTERVAL: usize = 1024;

/// Longer strings seldom repeat, and looking them up costs more than it saves.
const LONGEST_NAME: usize = 128;

static NAMES: LazyLock<Interner<str>> = LazyLock::new(Interner::default);

#[derive(Debug)]
pub(super) struct Interner<T: ?Sized>(Mutex<Values<T>>);

#[derive(Debug)]
struct Values<T: ?Sized> {
    stored: HashSet<Arc<T>>,
    until_sweep: usize,
}

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self(Mutex::new(Values { stored: HashSet::new(), until_sweep: SWEEP_INTERVAL }))
    }
}

impl<T: ?Sized + Eq + Hash> Interner<T> {
    pub(super) fn intern(&self, value: Arc<T>) -> Arc<T> {
        self.intern_with(&Arc::clone(&value), || value)
    }

    /// The stored copy; `store` allocates it if there is none yet.
    pub(super) fn intern_with(&self, value: &T, store: impl FnOnce() -> Arc<T>) -> Arc<T> {
        let mut values = self.0.lock();
        values.sweep_if_due();
        if let Some(found) = values.stored.get(value) {
            return Arc::clone(found);
        }
        let stored = store();
        values.stored.insert(Arc::clone(&stored));
        stored
    }
}

/// The stored copy of a name; a string too long to be one is not looked up.
pub(super) fn name(name: impl AsRef<str>) -> Arc<str> {
    match name.as_ref() {
        long if long.len() > LONGEST_NAME => long.into(),
        name => text(name),
    }
}

pub(super) fn text(text: &str) -> Arc<str> {
    NAMES.intern_with(text, || text.into())
}

impl<T: ?Sized + Eq + Hash> Values<T> {
    fn sweep_if_due(&mut self) {
        self.until_sweep = self.until_sweep.saturating_sub(1);
        if self.until_sweep > 0 {
            return;
        }
        self.stored.retain(|value| Arc::strong_count(value) > 1);
        if self.stored.capacity() > 4 * self.stored.len() {
            self.stored.shrink_to(2 * self.stored.len());
        }
        self.until_sweep = self.stored.len().max(SWEEP_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_equal_values_once() {
        let interner = Interner::<[u8]>::default();
        let first = interner.intern(Arc::from([1, 2]));
        assert!(Arc::ptr_eq(&first, &interner.intern(Arc::from([1, 2]))));
        assert!(!Arc::ptr_eq(&first, &interner.intern(Arc::from([2, 1]))));
    }

    #[test]
    fn drops_unused_values_and_keeps_used_ones() {
        let interner = Interner::<usize>::default();
        let kept = interner.intern(Arc::new(0));
        for number in 1..50 * SWEEP_INTERVAL {
            interner.intern(Arc::new(number));
        }
        let (values, capacity) = {
            let values = interner.0.lock();
            (values.stored.len(), values.stored.capacity())
        };
        assert!(
            values <= SWEEP_INTERVAL + 1 && capacity <= 4 * SWEEP_INTERVAL,
            "{values}, {capacity}"
        );
        assert!(Arc::ptr_eq(&kept, &interner.intern(Arc::new(0))));
    }

    #[test]
    fn interns_names_and_not_what_is_longer() {
        let long = "x".repeat(LONGEST_NAME + 1);
        let (first, second) = (name("zone-a"), name(String::from("zone-a")));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&name(&long), &name(&long)));
        let (first, second) = (text(&long), text(&long));
        assert!(Arc::ptr_eq(&first, &second));
    }
}

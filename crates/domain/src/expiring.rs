//! A map whose entries expire. Time is an argument: an uptime that only grows. Expired entries are removed by
//! [`ExpiringMap::sweep`], which inserting calls whenever the map has doubled since the last sweep.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Below this many entries, inserting does not sweep.
const MIN_SWEEP: usize = 256;

/// A map whose entries expire.
#[derive(Debug, Clone)]
pub struct ExpiringMap<K, V> {
    entries: HashMap<K, Entry<V>>,
    sweep_len: usize,
}

#[derive(Debug, Clone)]
struct Entry<V> {
    value: V,
    stored: Duration,
    ttl: Duration,
}

impl<V> Entry<V> {
    fn is_live(&self, now: Duration) -> bool {
        now.saturating_sub(self.stored) < self.ttl
    }
}

impl<K, V> Default for ExpiringMap<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), sweep_len: MIN_SWEEP }
    }
}

impl<K: Eq + Hash, V> ExpiringMap<K, V> {
    /// The value, if it has not expired.
    pub fn get(&self, key: &K, now: Duration) -> Option<&V> {
        self.entries.get(key).filter(|entry| entry.is_live(now)).map(|entry| &entry.value)
    }

    /// The value, expired or not.
    pub fn get_stale(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// The entries that have not expired, in any order.
    pub fn live(&self, now: Duration) -> impl Iterator<Item = (&K, &V)> {
        let live = self.entries.iter().filter(move |(_, entry)| entry.is_live(now));
        live.map(|(key, entry)| (key, &entry.value))
    }

    /// Stores a value for `ttl`.
    pub fn insert(&mut self, key: K, value: V, now: Duration, ttl: Duration) {
        self.sweep_if_grown(now);
        self.entries.insert(key, Entry { value, stored: now, ttl });
    }

    /// The value, which then lives for another `ttl`; stored first if it is missing. An expired one is kept.
    pub fn touch(
        &mut self,
        key: K,
        now: Duration,
        ttl: Duration,
        new: impl FnOnce() -> V,
    ) -> &mut V {
        self.sweep_if_grown(now);
        let entry = self.entries.entry(key);
        let entry = entry.or_insert_with(|| Entry { value: new(), stored: now, ttl });
        (entry.stored, entry.ttl) = (now, ttl);
        &mut entry.value
    }

    /// Changes a value in place and its time to live, which still counts from when it was stored.
    pub fn update(&mut self, key: &K, change: impl FnOnce(&mut V) -> Duration) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.ttl = change(&mut entry.value);
        }
    }

    /// Removes an entry; returns its value, expired or not.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key).map(|entry| entry.value)
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Removes expired entries and releases their memory. Returns whether any entry is left.
    pub fn sweep(&mut self, now: Duration) -> bool {
        self.entries.retain(|_, entry| entry.is_live(now));
        self.entries.shrink_to_fit();
        self.sweep_len = MIN_SWEEP.max(2 * self.entries.len());
        !self.entries.is_empty()
    }

    fn sweep_if_grown(&mut self, now: Duration) {
        if self.entries.len() >= self.sweep_len {
            self.sweep(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn returns_values_until_they_expire() {
        let mut map = ExpiringMap::default();
        map.insert("a", 1, at(5), TTL);
        assert_eq!((map.get(&"a", at(14)), map.get(&"a", at(15))), (Some(&1), None));
        assert_eq!(map.get_stale(&"a"), Some(&1));
        assert_eq!((map.live(at(14)).count(), map.live(at(15)).count()), (1, 0));
        assert!(map.sweep(at(14)) && !map.sweep(at(15)) && map.entries.is_empty());
    }

    #[test]
    fn touch_renews_and_update_does_not() {
        let mut map = ExpiringMap::default();
        assert_eq!(*map.touch("a", at(0), TTL, || 1), 1);
        assert_eq!(*map.touch("a", at(9), TTL, || 2), 1);
        assert_eq!(map.get(&"a", at(18)), Some(&1));
        map.update(&"a", |value| {
            *value = 3;
            at(5)
        });
        assert_eq!((map.get(&"a", at(13)), map.get(&"a", at(14))), (Some(&3), None));
        assert_eq!(map.remove(&"a"), Some(3));
    }

    #[test]
    fn sweeps_when_it_has_grown() {
        let mut map = ExpiringMap::default();
        for number in 0..=MIN_SWEEP {
            map.insert(number, (), at(0), if number == 0 { at(100) } else { TTL });
        }
        map.insert(MIN_SWEEP + 1, (), at(50), TTL);
        assert!(map.entries.len() > MIN_SWEEP, "all entries were live at the last sweep");
        for number in 0..=MIN_SWEEP {
            map.insert(MIN_SWEEP + 2 + number, (), at(50), TTL);
        }
        assert!(map.entries.len() <= MIN_SWEEP + 3, "{}", map.entries.len());
    }
}

//! How long a cloud resource has not been found.
//!
//! A cloud lists a new resource only after a while, so "not found" means nothing at first. The time counts from the
//! first miss of this process after its last create request. A stored time would not do: a create may be repeated long
//! after it was prepared, and other clocks may be wrong.

use std::hash::Hash;
use std::time::Duration;

use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

/// How long a key that is not looked for is remembered, at least.
const IDLE: Duration = Duration::from_hours(1);

/// What was not found, and since when. The key is the Machine's uid by default.
#[derive(Debug)]
pub struct Absences<K = Uid>(Mutex<ExpiringMap<K, Duration>>);

impl<K> Default for Absences<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Absences<K> {
    /// Records a miss at this uptime. Returns for how long the key has been missing.
    pub fn missed(&self, key: &K, uptime: Duration) -> Duration {
        let mut absences = self.0.lock();
        uptime.saturating_sub(*absences.touch(key.clone(), uptime, IDLE, || uptime))
    }

    /// Resets a key that was found or requested again.
    pub fn forget(&self, key: &K) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn counts_from_the_first_miss_since_the_last_request() {
        let (absences, uid) = (Absences::default(), Uid("a".into()));
        assert_eq!(absences.missed(&uid, at(100)), at(0));
        assert_eq!(absences.missed(&uid, at(130)), at(30));
        assert_eq!(absences.missed(&Uid("b".into()), at(130)), at(0));
        absences.forget(&uid);
        assert_eq!(absences.missed(&uid, at(200)), at(0));
    }
}

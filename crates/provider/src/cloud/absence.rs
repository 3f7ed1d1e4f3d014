//! How long an instance, or something else that a cloud made, has been looked for in vain.
//!
//! A cloud shows what it made only after a while, so that nothing was found means nothing at first. The time is counted from the first vain
//! look of this process that came after its last request to create, on a clock that only grows. No stored time would do: a
//! creation may be repeated long after it was prepared, and the clocks of others may be wrong. What is lost in a restart is
//! patience, not truth: the new process waits once more.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use machinist_domain::key::Uid;
use parking_lot::Mutex;

/// Beyond this many, those that nobody has asked about for an hour are forgotten.
const MANY: usize = 1024;
const LONG: Duration = Duration::from_secs(3600);

/// What was looked for in vain, and since when: the instances of machines, unless said otherwise.
#[derive(Debug)]
pub struct Absences<K = Uid>(Mutex<HashMap<K, Absence>>);

impl<K> Default for Absences<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[derive(Debug, Clone, Copy)]
struct Absence {
    first: Duration,
    last: Duration,
}

impl<K: Clone + Eq + Hash> Absences<K> {
    /// This was looked for at this uptime and not found. Says for how long that has been so.
    pub fn missed(&self, what: &K, uptime: Duration) -> Duration {
        let mut absences = self.0.lock();
        if absences.len() >= MANY {
            absences.retain(|_, absence| uptime.saturating_sub(absence.last) < LONG);
        }
        let absence =
            absences.entry(what.clone()).or_insert(Absence { first: uptime, last: uptime });
        absence.last = uptime;
        uptime.saturating_sub(absence.first)
    }

    /// It was found, or asked for once more: whatever was not found before means nothing any more.
    pub fn forget(&self, what: &K) {
        self.0.lock().remove(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn counts_from_the_first_vain_look_since_the_last_request() {
        let (absences, uid) = (Absences::default(), Uid("a".into()));
        assert_eq!(absences.missed(&uid, at(100)), at(0));
        assert_eq!(absences.missed(&uid, at(130)), at(30));
        assert_eq!(absences.missed(&Uid("b".into()), at(130)), at(0));
        absences.forget(&uid);
        assert_eq!(absences.missed(&uid, at(200)), at(0));
    }

    #[test]
    fn what_nobody_asks_about_is_forgotten_once_there_is_much_of_it() {
        let absences = Absences::default();
        for number in 0..2 * MANY {
            absences.missed(&Uid(number.to_string().into()), at(0));
        }
        absences.missed(&Uid("x".into()), at(0));
        absences.missed(&Uid("x".into()), at(7200));
        assert!(absences.0.lock().len() <= 1);
    }
}

//! The refused evictions of the drains that go on. If they are lost, evictions are refused again, with the first delay.

use std::collections::HashMap;
use std::time::Duration;

use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

use super::{Attempt, MEMORY};

/// By Machine (or Node), then by pod. Those of a drain that is not continued expire.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<ExpiringMap<Uid, HashMap<Uid, Attempt>>>);

impl Attempts {
    /// `None` if the drain is not known.
    pub(super) fn of(&self, subject: &Uid, now: Duration) -> Option<HashMap<Uid, Attempt>> {
        self.0.lock().get(subject, now).cloned()
    }

    pub(super) fn store(&self, subject: Uid, attempts: HashMap<Uid, Attempt>, now: Duration) {
        self.0.lock().insert(subject, attempts, now, MEMORY);
    }

    pub(super) fn forget(&self, subject: &Uid) {
        self.0.lock().remove(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide::tests::refused;
    use super::*;

    fn uid(number: usize) -> Uid {
        Uid(number.to_string().into())
    }

    fn some() -> HashMap<Uid, Attempt> {
        HashMap::from([(uid(0), refused(0))])
    }

    #[test]
    fn refusals_of_a_drain_that_is_continued_are_kept_until_it_is_over() {
        let attempts = Attempts::default();
        for round in 0..10 {
            let now = MEMORY * round / 2;
            assert_eq!(attempts.of(&uid(1), now), (round > 0).then(some), "{round}");
            attempts.store(uid(1), some(), now);
        }
        attempts.forget(&uid(1));
        assert_eq!(attempts.of(&uid(1), MEMORY * 5), None);
        assert_eq!(attempts.0.lock().get_stale(&uid(1)), None, "it is released");
    }

    /// A thousand drains in each hour, none of which is continued.
    #[test]
    fn refusals_of_drains_that_are_not_continued_are_released() {
        const EACH: usize = 1000;
        let attempts = Attempts::default();
        let kept = |hours: usize| {
            let all = attempts.0.lock();
            (0..hours * EACH).filter(|drain| all.get_stale(&uid(*drain)).is_some()).count()
        };
        for hour in 0..10_u32 {
            let first = usize::try_from(hour).unwrap() * EACH;
            let now = MEMORY * hour;
            for drain in first..first + EACH {
                attempts.store(uid(drain), some(), now);
            }
            assert_eq!(attempts.of(&uid(first), now + MEMORY), None, "it has expired");
        }
        assert!(kept(10) <= 3 * EACH, "{} drains are remembered", kept(10));
    }
}

//! What to do about a lease, as a pure function of what was seen and when.

use std::time::Duration;

use super::record::Record;

/// The lease as this process has seen it.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    /// What it said; `None` if it does not exist.
    pub(super) record: Option<Record>,
    /// When it last changed before our eyes, on our own clock.
    pub(super) changed: Duration,
}

impl Sight {
    /// Takes in what the lease says now. Only a change counts: looking again does not make a lease younger.
    pub(super) fn see(&mut self, record: Option<Record>, now: Duration) {
        if self.record != record {
            self.record = record;
            self.changed = now;
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Nobody has made it yet.
    Create,
    /// Nobody holds it, its time is over, or it is ours already.
    Take(Record),
    /// Somebody holds it, at least until then.
    Wait(Duration),
}

/// Decides.
pub(super) fn decide(sight: &Sight, me: &str, now: Duration) -> Step {
    let Some(record) = &sight.record else {
        return Step::Create;
    };
    let expiry = sight.changed.saturating_add(record.duration);
    if record.holder.is_empty() || record.holder == me || now >= expiry {
        Step::Take(record.clone())
    } else {
        Step::Wait(expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(holder: &str, version: &str) -> Record {
        Record {
            holder: holder.to_owned(),
            duration: Duration::from_secs(15),
            transitions: 0,
            acquired: None,
            version: version.to_owned(),
        }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lease_that_somebody_holds_is_waited_for_from_the_moment_we_saw_it_change() {
        let mut sight = Sight { record: None, changed: at(0) };
        assert_eq!(decide(&sight, "me", at(0)), Step::Create);
        sight.see(Some(record("other", "1")), at(100));
        assert_eq!(decide(&sight, "me", at(100)), Step::Wait(at(115)));
        // Seen again without a change: no younger.
        sight.see(Some(record("other", "1")), at(110));
        assert_eq!(decide(&sight, "me", at(114)), Step::Wait(at(115)));
        assert_eq!(decide(&sight, "me", at(115)), Step::Take(record("other", "1")));
        // Renewed at the last moment.
        sight.see(Some(record("other", "2")), at(115));
        assert_eq!(decide(&sight, "me", at(116)), Step::Wait(at(130)));
    }

    #[test]
    fn a_lease_that_was_given_back_or_is_ours_is_taken_at_once() {
        let mut sight = Sight { record: Some(record("other", "1")), changed: at(0) };
        sight.see(Some(record("", "2")), at(5));
        assert_eq!(decide(&sight, "me", at(5)), Step::Take(record("", "2")));
        // The answer to our own write was lost.
        sight.see(Some(record("me", "3")), at(6));
        assert_eq!(decide(&sight, "me", at(6)), Step::Take(record("me", "3")));
    }
}

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
    /// Who holds the lease; empty if nobody does.
    pub(super) fn holder(&self) -> &str {
        self.record.as_ref().map_or("", |record| &record.holder)
    }

    /// Takes in what the lease says now. Only a change counts: looking again does not make a lease younger.
    pub(super) fn see(&mut self, record: Option<Record>, now: Duration) {
        if self.record != record {
            self.record = record;
            self.changed = now;
        }
    }
}

/// Who wants the lease, and how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a> {
    /// Who.
    pub(super) me: &'a str,
    /// How long it lasts where its holder does not say.
    pub(super) duration: Duration,
    /// Whether to take it from somebody who holds it.
    pub(super) force: bool,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Nobody has made it yet.
    Create,
    /// Nobody holds it, its time is over, or it is ours already.
    Take(Record),
    /// Somebody holds it, and is to lose it. It goes on writing until it notices, which takes no longer than its lease lasts.
    TakeOver(Record),
    /// Somebody holds it, at least until then.
    Wait(Duration),
}

/// Decides. How long a lease lasts is what its holder says, not what we would say: it plans its own writes by that.
pub(super) fn decide(sight: &Sight, claim: Claim<'_>, now: Duration) -> Step {
    let Some(record) = &sight.record else {
        return Step::Create;
    };
    let expiry = sight.changed.saturating_add(record.lasts(claim.duration));
    if record.holder.is_empty() || record.holder == claim.me || now >= expiry {
        Step::Take(record.clone())
    } else if claim.force {
        Step::TakeOver(record.clone())
    } else {
        Step::Wait(expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Claim<'_> = Claim { me: "me", duration: Duration::from_secs(120), force: false };

    /// A Lease as client-go writes it.
    fn record_for(holder: &str, version: &str, seconds: Option<u32>) -> Record {
        let json = serde_json::json!({
            "metadata": {"name": "x", "namespace": "ns", "resourceVersion": version},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": seconds,
                "acquireTime": "2026-01-02T03:04:05.000006Z",
                "renewTime": "2026-01-02T03:04:05.000006Z",
                "leaseTransitions": 3,
            },
        });
        Record::parse(json.to_string().as_bytes()).unwrap()
    }

    fn record(holder: &str, version: &str) -> Record {
        record_for(holder, version, Some(15))
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lease_that_somebody_holds_is_waited_for_from_the_moment_we_saw_it_change() {
        let mut sight = Sight { record: None, changed: at(0) };
        assert_eq!(decide(&sight, ME, at(0)), Step::Create);
        sight.see(Some(record("other", "1")), at(100));
        assert_eq!(decide(&sight, ME, at(100)), Step::Wait(at(115)));
        // Seen again without a change: no younger.
        sight.see(Some(record("other", "1")), at(110));
        assert_eq!(decide(&sight, ME, at(114)), Step::Wait(at(115)));
        assert_eq!(decide(&sight, ME, at(115)), Step::Take(record("other", "1")));
        // Renewed at the last moment.
        sight.see(Some(record("other", "2")), at(115));
        assert_eq!(decide(&sight, ME, at(116)), Step::Wait(at(130)));
    }

    #[test]
    fn a_lease_that_was_given_back_or_is_ours_is_taken_at_once() {
        let mut sight = Sight { record: Some(record("other", "1")), changed: at(0) };
        sight.see(Some(record("", "2")), at(5));
        assert_eq!(decide(&sight, ME, at(5)), Step::Take(record("", "2")));
        // The answer to our own write was lost.
        sight.see(Some(record("me", "3")), at(6));
        assert_eq!(decide(&sight, ME, at(6)), Step::Take(record("me", "3")));
    }

    #[test]
    fn the_holders_own_duration_counts_and_ours_only_where_it_names_none() {
        let expiry = |record: Record| {
            let sight = Sight { record: Some(record), changed: at(100) };
            let Step::Wait(expiry) = decide(&sight, ME, at(100)) else {
                panic!("somebody holds it");
            };
            expiry
        };
        assert_eq!(expiry(record_for("go", "1", Some(137))), at(237));
        assert_eq!(expiry(record_for("go", "1", Some(15))), at(115));
        assert_eq!(expiry(record_for("go", "1", None)), at(220));
        assert_eq!(expiry(record_for("go", "1", Some(0))), at(220));
    }

    #[test]
    fn a_claim_by_force_takes_what_somebody_holds_and_nothing_else_differently() {
        let force = Claim { force: true, ..ME };
        let mut sight = Sight { record: None, changed: at(0) };
        assert_eq!(decide(&sight, force, at(0)), Step::Create);
        sight.see(Some(record("other", "1")), at(1));
        assert_eq!(decide(&sight, force, at(1)), Step::TakeOver(record("other", "1")));
        // Its time is over: nobody has to be waited for.
        assert_eq!(decide(&sight, force, at(16)), Step::Take(record("other", "1")));
        sight.see(Some(record("", "2")), at(17));
        assert_eq!(decide(&sight, force, at(17)), Step::Take(record("", "2")));
        sight.see(Some(record("me", "3")), at(18));
        assert_eq!(decide(&sight, force, at(18)), Step::Take(record("me", "3")));
    }
}

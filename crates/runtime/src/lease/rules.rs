//! What to do about a lease: a pure function of what was observed, and when.

use std::time::Duration;

use super::record::Record;

#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) record: Option<Record>,
    /// When this process last saw it change. Points in time here are `Clock::uptime`, never wall clock.
    pub(super) changed: Duration,
    /// The holders of Leases that were deleted while held, and until when each may write: it does so until it notices.
    pub(super) deleted: Vec<(String, Duration)>,
    /// Our own lease duration, assumed for a holder that states none.
    pub(super) duration: Duration,
}

impl Observation {
    pub(super) fn nothing(now: Duration, duration: Duration) -> Self {
        Self { record: None, changed: now, deleted: Vec::new(), duration }
    }

    pub(super) fn holder(&self) -> &str {
        self.record.as_ref().map_or("", |record| &record.holder)
    }

    /// Stores the current content. Only a change resets the expiry: reading an unchanged Lease does not extend it.
    pub(super) fn see(&mut self, record: Option<Record>, now: Duration) {
        if self.record == record {
            return;
        }
        let last = std::mem::replace(&mut self.record, record);
        self.changed = now;
        // The holder of the new Lease is followed there. The others stay: a new holder may have a shorter duration, and
        // does not wait for holders that it has not seen.
        let new = self.record.as_ref().map(|record| &record.holder);
        self.deleted.retain(|(holder, expiry)| *expiry > now && Some(holder) != new);
        if let (None, Some(last)) = (&self.record, last.filter(|last| !last.holder.is_empty())) {
            // Counted from now and not from the last change: the holder may have renewed just before the deletion.
            let expiry = now.saturating_add(last.lasts(self.duration));
            self.deleted.push((last.holder, expiry));
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a> {
    pub(super) me: &'a str,
    pub(super) take_over: bool,
}

/// No step but `Wait` is chosen while the holder of a deleted Lease may write, unless the Lease is ours already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The Lease does not exist.
    Create,
    /// It has no holder, has expired, or is ours already.
    Take(Record),
    /// It is taken from its holder, who may write until it notices, at most for the duration of its lease.
    TakeOver(Record),
    /// Another process holds it, or held a deleted one, at least until then.
    Wait(Duration),
}

/// The holder's own duration counts, because the holder plans its writes by it.
pub(super) fn decide(observed: &Observation, claim: Claim<'_>, now: Duration) -> Step {
    let may_write = |holder: &str, expiry| !holder.is_empty() && holder != claim.me && now < expiry;
    let writes_until = |record: &Record| {
        let expiry = observed.changed.saturating_add(record.lasts(observed.duration));
        may_write(&record.holder, expiry).then_some(expiry)
    };
    let predecessors =
        observed.deleted.iter().filter(|(holder, expiry)| may_write(holder, *expiry));
    let predecessor = predecessors.map(|(_, expiry)| *expiry).max();
    match (&observed.record, predecessor) {
        (Some(record), _) if record.holder == claim.me => Step::Take(record.clone()),
        (_, Some(expiry)) => Step::Wait(expiry),
        (None, None) => Step::Create,
        (Some(record), None) => match writes_until(record) {
            None => Step::Take(record.clone()),
            Some(_) if claim.take_over => Step::TakeOver(record.clone()),
            Some(expiry) => Step::Wait(expiry),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Claim<'_> = Claim { me: "me", take_over: false };

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

    fn nothing() -> Observation {
        Observation::nothing(at(0), Duration::from_secs(120))
    }

    #[test]
    fn held_lease_expires_after_its_duration_without_an_observed_change() {
        let mut observed = nothing();
        assert_eq!(decide(&observed, ME, at(0)), Step::Create);
        observed.see(Some(record("other", "1")), at(100));
        assert_eq!(decide(&observed, ME, at(100)), Step::Wait(at(115)));
        // Read again without a change: the expiry stays.
        observed.see(Some(record("other", "1")), at(110));
        assert_eq!(decide(&observed, ME, at(114)), Step::Wait(at(115)));
        assert_eq!(decide(&observed, ME, at(115)), Step::Take(record("other", "1")));
        observed.see(Some(record("other", "2")), at(115));
        assert_eq!(decide(&observed, ME, at(116)), Step::Wait(at(130)));
    }

    #[test]
    fn released_or_own_lease_is_taken_at_once() {
        let mut observed = nothing();
        observed.see(Some(record("other", "1")), at(0));
        observed.see(Some(record("", "2")), at(5));
        assert_eq!(decide(&observed, ME, at(5)), Step::Take(record("", "2")));
        // The answer to our own write was lost.
        observed.see(Some(record("me", "3")), at(6));
        assert_eq!(decide(&observed, ME, at(6)), Step::Take(record("me", "3")));
    }

    #[test]
    fn deleted_lease_is_created_only_when_its_holder_must_have_stopped() {
        for take_over in [false, true] {
            let claim = Claim { take_over, ..ME };
            let mut observed = nothing();
            observed.see(Some(record("other", "1")), at(100));
            observed.see(None, at(105));
            assert_eq!(decide(&observed, claim, at(105)), Step::Wait(at(120)));
            observed.see(None, at(110));
            assert_eq!(decide(&observed, claim, at(119)), Step::Wait(at(120)));
            assert_eq!(decide(&observed, claim, at(120)), Step::Create);
            // From 110 on again, another way: a Lease without a holder in its place changes nothing.
            observed.see(Some(record("", "2")), at(111));
            assert_eq!(decide(&observed, claim, at(119)), Step::Wait(at(120)));
            assert_eq!(decide(&observed, claim, at(120)), Step::Take(record("", "2")));
            observed.see(None, at(112));
            assert_eq!(decide(&observed, claim, at(119)), Step::Wait(at(120)));
            // The holder was faster: it is followed as before.
            observed.see(Some(record("other", "3")), at(113));
            assert_eq!(decide(&observed, ME, at(114)), Step::Wait(at(128)));
            observed.see(Some(record("", "4")), at(115));
            assert_eq!(decide(&observed, ME, at(115)), Step::Take(record("", "4")));
        }
    }

    /// A client-go holder creates a deleted Lease at once, however long the former holder may write.
    #[test]
    fn every_holder_of_a_deleted_lease_is_waited_for() {
        for take_over in [false, true] {
            let claim = Claim { take_over, ..ME };
            let mut observed = nothing();
            observed.see(Some(record_for("long", "1", Some(120))), at(100));
            observed.see(None, at(105));
            observed.see(Some(record("short", "2")), at(106));
            // A takeover waits, too, and is not decided by how long the present holder writes.
            assert_eq!(decide(&observed, claim, at(106)), Step::Wait(at(225)));
            observed.see(None, at(107));
            assert_eq!(decide(&observed, claim, at(122)), Step::Wait(at(225)));
            assert_eq!(decide(&observed, claim, at(225)), Step::Create);
            // The first holder comes back and releases the Lease; the second one may still write.
            observed.see(Some(record_for("long", "3", Some(120))), at(108));
            observed.see(Some(record("", "4")), at(109));
            assert_eq!(decide(&observed, claim, at(109)), Step::Wait(at(122)));
            assert_eq!(decide(&observed, claim, at(122)), Step::Take(record("", "4")));
        }
    }

    #[test]
    fn expired_holders_of_deleted_leases_are_forgotten() {
        let mut observed = nothing();
        for turn in 0..100 {
            observed.see(Some(record(&format!("other-{turn}"), "1")), at(100 + 20 * turn));
            observed.see(None, at(101 + 20 * turn));
        }
        assert_eq!(observed.deleted.len(), 1);
    }

    #[test]
    fn deleted_lease_without_a_holder_or_of_our_own_is_created_at_once() {
        for holder in ["", "me"] {
            let mut observed = nothing();
            observed.see(Some(record(holder, "1")), at(100));
            observed.see(None, at(101));
            assert_eq!(decide(&observed, ME, at(101)), Step::Create, "{holder:?}");
        }
    }

    #[test]
    fn duration_of_the_holder_counts_before_our_own() {
        let expiry = |record: Record| {
            let mut observed = nothing();
            observed.see(Some(record), at(100));
            let Step::Wait(expiry) = decide(&observed, ME, at(100)) else {
                panic!("another process holds it");
            };
            expiry
        };
        assert_eq!(expiry(record_for("go", "1", Some(137))), at(237));
        assert_eq!(expiry(record_for("go", "1", Some(15))), at(115));
        assert_eq!(expiry(record_for("go", "1", None)), at(220));
        assert_eq!(expiry(record_for("go", "1", Some(0))), at(220));
    }

    #[test]
    fn takeover_differs_only_for_a_held_lease() {
        let claim = Claim { take_over: true, ..ME };
        let mut observed = nothing();
        assert_eq!(decide(&observed, claim, at(0)), Step::Create);
        observed.see(Some(record("other", "1")), at(1));
        assert_eq!(decide(&observed, claim, at(1)), Step::TakeOver(record("other", "1")));
        assert_eq!(decide(&observed, claim, at(16)), Step::Take(record("other", "1")));
        observed.see(Some(record("", "2")), at(17));
        assert_eq!(decide(&observed, claim, at(17)), Step::Take(record("", "2")));
        observed.see(Some(record("me", "3")), at(18));
        assert_eq!(decide(&observed, claim, at(18)), Step::Take(record("me", "3")));
    }
}

//! A refused eviction and its retry: the delay doubles per pod, other pods are not affected.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use machinist_domain::backoff::Backoff;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Failure, Retry};

/// The evictions of one pod that were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(super) refusals: u32,
    pub(super) force_failures: u32,
    pub(super) at: Timestamp,
    pub(super) retry_after: Duration,
    pub(super) why: Arc<str>,
}

impl Attempt {
    pub(super) fn after(
        before: Option<&Self>,
        forced: bool,
        failure: &Failure,
        now: Timestamp,
    ) -> Self {
        let (refusals, force_failures) =
            before.map_or((0, 0), |before| (before.refusals, before.force_failures));
        Self {
            refusals: refusals.saturating_add(u32::from(!forced)),
            force_failures: force_failures.saturating_add(u32::from(forced)),
            at: now,
            retry_after: match failure.retry {
                Retry::After(pause) => pause,
                _ => Duration::ZERO,
            },
            why: failure.message.as_str().into(),
        }
    }

    pub(super) fn next(&self, uid: &Uid, timings: &MachineTimings) -> Timestamp {
        let backoff = Backoff { base: timings.eviction_retry, max: timings.eviction_retry_max };
        // Pods that were refused together are not retried together.
        let pause = backoff.delay_with_jitter(self.refusals, 0.25, jitter(uid));
        let pause = pause.max(self.retry_after.min(timings.eviction_retry_max));
        self.at.checked_add(pause).unwrap_or(Timestamp::MAX)
    }
}

/// A number in 0..1 that is always the same for the same pod.
fn jitter(uid: &Uid) -> f64 {
    f64::from(fnv1a(uid.0.as_bytes()).to_le_bytes()[0]) / f64::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_domain::retry::Category;

    fn failure(retry: Retry) -> Failure {
        Failure { category: Category::Throttled, retry, message: "no".to_owned() }
    }

    fn pause(refusals: u32, retry: Retry) -> Duration {
        let (timings, now) = (MachineTimings::default(), Timestamp::UNIX_EPOCH);
        let mut attempt = None;
        for _ in 0..refusals {
            attempt = Some(Attempt::after(attempt.as_ref(), false, &failure(retry), now));
        }
        let next = attempt.unwrap().next(&Uid("pod".into()), &timings);
        next.duration_since(now).unsigned_abs()
    }

    #[test]
    fn pauses_double_up_to_two_minutes_and_are_never_shorter_than_three_quarters() {
        for (refusals, full) in [(1, 5), (2, 10), (3, 20), (4, 40), (5, 80), (6, 120), (60, 120)] {
            let pause = pause(refusals, Retry::Backoff);
            let full = Duration::from_secs(full);
            assert!(pause <= full && pause >= full.mul_f64(0.75), "{refusals}: {pause:?}");
        }
    }

    #[test]
    fn obeys_retry_after_up_to_the_limit() {
        let seconds = Duration::from_secs;
        assert_eq!(pause(1, Retry::After(seconds(17))), seconds(17));
        assert_eq!(pause(1, Retry::After(seconds(86_400))), seconds(120));
    }

    #[test]
    fn spreads_the_retries_of_pods() {
        let spread: std::collections::BTreeSet<_> =
            (0..100).map(|n| format!("{:.1}", jitter(&Uid(n.to_string().into())))).collect();
        assert!(spread.len() > 5, "{spread:?}");
    }

    #[test]
    fn counts_forced_deletions_separately() {
        let now = Timestamp::UNIX_EPOCH;
        let refused = Attempt::after(None, false, &failure(Retry::Backoff), now);
        let forced = Attempt::after(Some(&refused), true, &failure(Retry::Backoff), now);
        assert_eq!((forced.refusals, forced.force_failures), (1, 1));
    }
}

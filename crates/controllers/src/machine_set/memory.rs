//! What the controller remembers per set or Machine. All of it can be lost: that costs a request and nothing else.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::retry::Category;
use parking_lot::Mutex;

/// How long something is remembered that is not needed again.
pub(super) const MEMORY: Duration = Duration::from_secs(3600);

pub(super) type Remembered<V> = Mutex<ExpiringMap<Uid, V>>;

/// The generations of sets for which their Machines were listed live. A list serves one deletion of one generation.
#[derive(Debug, Default)]
pub(super) struct Lists(Remembered<i64>);

impl Lists {
    pub(super) fn add(&self, set: &Uid, generation: i64, now: Duration) {
        self.0.lock().insert(set.clone(), generation, now, MEMORY);
    }

    pub(super) fn serves(&self, set: &Uid, generation: i64, now: Duration) -> bool {
        self.0.lock().get(set, now) == Some(&generation)
    }

    pub(super) fn used(&self, set: &Uid) {
        self.0.lock().remove(set);
    }
}

/// How long changed counts are held back: two writes for the same set are at least `pause` apart.
pub(super) fn hold(written: Option<Duration>, pause: Duration, now: Duration) -> Duration {
    written.map_or(Duration::ZERO, |at| (at + pause).saturating_sub(now))
}

/// Whether a Machine is skipped after this failure to adopt or release it, so that it does not block the scaling of
/// the set. All other failures end by themselves.
pub(super) fn skips_machine(category: Category) -> bool {
    category.needs_attention()
}

/// A Machine that could not be adopted or released.
#[derive(Debug, Clone)]
pub(super) struct FailedClaim {
    /// The version that was tried: a Machine that has changed since is tried again.
    pub(super) version: Version,
    pub(super) cause: Arc<str>,
    /// How often this version was tried.
    failures: u32,
    /// The uptime at which it is tried again: no event announces that a right was granted or a webhook answers again.
    pub(super) retry_at: Duration,
}

impl FailedClaim {
    /// The claim of this Machine failed, after `earlier` failures.
    pub(super) fn after(
        earlier: Option<&Self>,
        machine: &Meta,
        cause: Arc<str>,
        now: Duration,
        poll: Duration,
    ) -> Self {
        let earlier = earlier.filter(|earlier| earlier.version == machine.version);
        let failures = earlier.map_or(0, |earlier| earlier.failures).saturating_add(1);
        // 2 s to 5 min.
        let backoff = Backoff { base: poll / 10, max: 15 * poll };
        let retry_at = now + backoff.delay(failures, 0.0);
        Self { version: machine.version, cause, failures, retry_at }
    }

    pub(super) fn skips(&self, machine: &Meta, now: Duration) -> bool {
        self.version == machine.version && self.retry_at > now
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;

    #[test]
    fn holds_counts_for_the_rest_of_the_pause() {
        let second = Duration::from_secs(1);
        let hold_at = |written, now| hold(written, second, now);
        assert_eq!(hold_at(None, second), Duration::ZERO);
        assert_eq!(hold_at(Some(second), second + second / 4), second / 4 * 3);
        assert_eq!(hold_at(Some(second), 2 * second), Duration::ZERO);
    }

    #[test]
    fn skips_a_machine_until_it_changes_or_the_doubling_delay_is_over() {
        let at = |version| Meta {
            key: ObjectKey::new("ns", "m"),
            uid: Uid("u".into()),
            version: Version(version),
            deleting: false,
        };
        let second = Duration::from_secs(1);
        let poll = 20 * second;
        let fail = |earlier: Option<&FailedClaim>, version, now| {
            FailedClaim::after(earlier, &at(version), "forbidden".into(), now, poll)
        };
        let first = fail(None, 1, second);
        assert!(first.skips(&at(1), 2 * second) && !first.skips(&at(1), 3 * second));
        assert!(!first.skips(&at(2), 2 * second), "it has changed");
        let second_time = fail(Some(&first), 1, 3 * second);
        assert_eq!(second_time.retry_at, 7 * second);
        let often = (0..20).fold(second_time.clone(), |last, _| fail(Some(&last), 1, second));
        assert_eq!(often.retry_at, 301 * second);
        assert_eq!(fail(Some(&second_time), 2, 7 * second).retry_at, 9 * second, "it has changed");
    }

    #[test]
    fn a_list_serves_one_deletion_of_one_generation() {
        let (lists, set, now) = (Lists::default(), Uid("s".into()), Duration::from_secs(1));
        assert!(!lists.serves(&set, 7, now));
        lists.add(&set, 7, now);
        assert!(lists.serves(&set, 7, now) && !lists.serves(&Uid("other".into()), 7, now));
        assert!(!lists.serves(&set, 8, now), "the spec has changed since");
        lists.used(&set);
        assert!(!lists.serves(&set, 7, now), "Machines were deleted since");
        lists.add(&set, 7, now);
        assert!(!lists.serves(&set, 7, now + MEMORY));
    }
}

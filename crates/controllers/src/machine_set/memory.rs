//! What the controller remembers per set or Machine. All of it can be lost: that costs a request and nothing else.

use std::sync::Arc;
use std::time::Duration;

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
    /// The uptime at which an unchanged Machine is tried again; `None` if the same request would fail again.
    pub(super) retry_at: Option<Duration>,
}

impl FailedClaim {
    pub(super) fn skips(&self, machine: &Meta, now: Duration) -> bool {
        self.version == machine.version && self.retry_at.is_none_or(|at| at > now)
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
    fn skips_a_machine_until_it_changes_or_the_time_is_over() {
        let at = |version| Meta {
            key: ObjectKey::new("ns", "m"),
            uid: Uid("u".into()),
            version: Version(version),
            deleting: false,
        };
        let second = Duration::from_secs(1);
        let forbidden =
            FailedClaim { version: Version(1), cause: "forbidden".into(), retry_at: None };
        assert!(forbidden.skips(&at(1), second) && !forbidden.skips(&at(2), second));
        let failing = FailedClaim { retry_at: Some(3 * second), ..forbidden };
        assert!(failing.skips(&at(1), second) && !failing.skips(&at(1), 3 * second));
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

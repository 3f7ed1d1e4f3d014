//! What the controller remembers per set or Machine. All of it can be lost: that costs a request and nothing else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::retry::Category;
use parking_lot::Mutex;

/// The most entries of each map; beyond that it is cleared.
const MOST_REMEMBERED: usize = 1024;

/// Values by the uid of an object.
#[derive(Debug)]
pub(super) struct Remembered<V>(Mutex<HashMap<Uid, V>>);

impl<V> Default for Remembered<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Clone> Remembered<V> {
    pub(super) fn get(&self, uid: &Uid) -> Option<V> {
        self.0.lock().get(uid).cloned()
    }

    pub(super) fn insert(&self, uid: &Uid, value: V) {
        let mut map = self.0.lock();
        if map.len() >= MOST_REMEMBERED {
            map.clear();
        }
        map.insert(uid.clone(), value);
    }

    pub(super) fn remove(&self, uid: &Uid) {
        self.0.lock().remove(uid);
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
    fn remembers_values_by_uid_until_there_are_too_many() {
        let (map, set) = (Remembered::default(), Uid("s".into()));
        map.insert(&set, 7);
        assert_eq!((map.get(&set), map.get(&Uid("other".into()))), (Some(7), None));
        map.remove(&set);
        assert_eq!(map.get(&set), None);
        map.insert(&set, 7);
        for number in 0..MOST_REMEMBERED {
            map.insert(&Uid(number.to_string().as_str().into()), 0);
        }
        assert_eq!(map.get(&set), None);
    }
}

//! What the controller remembers per set or Machine. All of it can be lost: that costs a request and nothing else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;

/// The most entries of each map; beyond that it is cleared.
const MOST_REMEMBERED: usize = 1024;

/// Sets whose Machines were listed live for this generation, since the last deletion.
#[derive(Debug, Default)]
pub(super) struct Listed(Mutex<HashMap<Uid, i64>>);

impl Listed {
    pub(super) fn has(&self, set: &Uid, generation: i64) -> bool {
        self.0.lock().get(set) == Some(&generation)
    }

    pub(super) fn add(&self, set: &Uid, generation: i64) {
        insert(&mut self.0.lock(), set, generation);
    }

    /// A list serves one deletion.
    pub(super) fn remove(&self, set: &Uid) {
        self.0.lock().remove(set);
    }
}

/// When the counts of each set were last written.
#[derive(Debug)]
pub(super) struct CountsWritten {
    pause: Duration,
    at: Mutex<HashMap<Uid, Duration>>,
}

impl CountsWritten {
    /// Two writes for the same set are at least `pause` apart.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, at: Mutex::default() }
    }

    /// How long changed counts are still held back.
    pub(super) fn hold(&self, set: &Uid, now: Duration) -> Duration {
        let at = self.at.lock().get(set).copied();
        at.map_or(Duration::ZERO, |at| (at + self.pause).saturating_sub(now))
    }

    pub(super) fn add(&self, set: &Uid, now: Duration) {
        insert(&mut self.at.lock(), set, now);
    }
}

/// Machines that could not be adopted or released, with the version that was tried.
#[derive(Debug, Default)]
pub(super) struct FailedClaims(Mutex<HashMap<Uid, FailedClaim>>);

#[derive(Debug)]
struct FailedClaim {
    version: Version,
    cause: Arc<str>,
    skip: Skip,
}

/// How long a Machine is skipped after a failed claim, unless it changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Skip {
    /// Until it changes: the same request would fail again.
    UntilChange,
    /// Until this uptime: the failure may end by itself.
    Until(Duration),
}

/// A Machine that is skipped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Why the claim failed.
    pub(super) cause: Arc<str>,
    /// After this time it is tried again, even if the Machine has not changed.
    pub(super) retry: Option<Duration>,
}

impl FailedClaims {
    /// Whether this version of the Machine is to be skipped.
    pub(super) fn get(&self, machine: &Meta, now: Duration) -> Option<Skipped> {
        let claims = self.0.lock();
        let failed = claims.get(&machine.uid)?;
        let retry = match failed.skip {
            Skip::UntilChange => None,
            Skip::Until(until) => Some(until.saturating_sub(now)),
        };
        let skipped = failed.version == machine.version && retry != Some(Duration::ZERO);
        skipped.then(|| Skipped { cause: Arc::clone(&failed.cause), retry })
    }

    pub(super) fn add(&self, machine: &Meta, cause: &str, skip: Skip) {
        let claim = FailedClaim { version: machine.version, cause: cause.into(), skip };
        insert(&mut self.0.lock(), &machine.uid, claim);
    }
}

fn insert<V>(map: &mut HashMap<Uid, V>, uid: &Uid, value: V) {
    if map.len() >= MOST_REMEMBERED {
        map.clear();
    }
    map.insert(uid.clone(), value);
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;

    #[test]
    fn holds_counts_for_the_rest_of_the_pause() {
        let (counts, second) = (CountsWritten::new(Duration::from_secs(1)), Duration::from_secs(1));
        let set = Uid("s".into());
        assert_eq!(counts.hold(&set, second), Duration::ZERO);
        counts.add(&set, second);
        assert_eq!(counts.hold(&set, second + second / 4), second / 4 * 3);
        assert_eq!(counts.hold(&set, 2 * second), Duration::ZERO);
        assert_eq!(counts.hold(&Uid("other".into()), second), Duration::ZERO);
    }

    #[test]
    fn skips_a_machine_until_it_changes_or_the_time_is_over() {
        let claims = FailedClaims::default();
        let at = |version| Meta {
            key: ObjectKey::new("ns", "m"),
            uid: Uid("u".into()),
            version: Version(version),
            deleting: false,
        };
        let second = Duration::from_secs(1);
        let skipped = |retry| Some(Skipped { cause: "forbidden".into(), retry });
        claims.add(&at(1), "forbidden", Skip::UntilChange);
        assert_eq!(claims.get(&at(1), second), skipped(None));
        assert_eq!(claims.get(&at(2), second), None);
        claims.add(&at(1), "forbidden", Skip::Until(3 * second));
        assert_eq!(claims.get(&at(1), second), skipped(Some(2 * second)));
        assert_eq!(claims.get(&at(1), 3 * second), None);
    }

    #[test]
    fn a_list_serves_one_deletion_of_one_generation() {
        let (listed, set) = (Listed::default(), Uid("s".into()));
        listed.add(&set, 7);
        assert!(listed.has(&set, 7) && !listed.has(&set, 8));
        listed.remove(&set);
        assert!(!listed.has(&set, 7));
    }
}

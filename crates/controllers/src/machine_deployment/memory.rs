//! What the controller remembers per deployment. All of it can be lost: a new leader lists everything before its first
//! decision.

use std::time::Duration;

use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;

use super::snapshot::{LateSizes, NodeTrouble};

/// Longer than a resync, after which the cache has every Machine.
const MEMORY: Duration = Duration::from_secs(3600);

/// The version of an object for which its refusal counts. Reports of a refusal change the deployment itself, so its
/// refusal counts for all its versions.
pub(super) fn version_tried(deployment: &Meta, object: &Meta) -> Version {
    if object.uid == deployment.uid { Version::default() } else { object.version }
}

#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Deployments whose Machines were listed when none was in creation, and of which no set was scaled down since
    /// while some of its Machines were not in the view. Another process may have done that, so others are doubtful.
    certain: Mutex<ExpiringMap<Uid, ()>>,
    /// The state of the sets in which the Machines were listed.
    listed: Mutex<ExpiringMap<Uid, u64>>,
}

impl Lists {
    pub(super) fn doubt(&self, deployment: &Uid) {
        self.certain.lock().remove(deployment);
    }

    pub(super) fn is_doubtful(&self, deployment: &Uid, now: Duration) -> bool {
        self.certain.lock().get(deployment, now).is_none()
    }

    pub(super) fn is_listed(&self, deployment: &Uid, fingerprint: u64, now: Duration) -> bool {
        self.listed.lock().get(deployment, now) == Some(&fingerprint)
    }

    /// The Machines were listed. `closed`: no Machine was in creation by then, so none is missing in the cache.
    pub(super) fn add(&self, deployment: &Uid, fingerprint: u64, closed: bool, now: Duration) {
        self.listed.lock().insert(deployment.clone(), fingerprint, now, MEMORY);
        if closed {
            self.certain.lock().insert(deployment.clone(), (), now, MEMORY);
        }
    }
}

/// Sizes whose write was not answered. The API server may execute the request for `late`, unless the set changes.
#[derive(Debug)]
pub(super) struct Sizes {
    unanswered: Mutex<ExpiringMap<Uid, (Version, LateSizes)>>,
    late: Duration,
}

impl Sizes {
    pub(super) fn new(late: Duration) -> Self {
        Self { unanswered: Mutex::default(), late }
    }

    /// At most one of several requests for a version is executed.
    pub(super) fn unanswered(&self, set: &Meta, size: usize, now: Duration) {
        let until = now + self.late;
        let sizes = match self.late(set, now) {
            None => LateSizes { least: size, most: size, until },
            Some(one) => LateSizes { least: one.least.min(size), most: one.most.max(size), until },
        };
        let value = (set.version, sizes);
        self.unanswered.lock().insert(set.uid.clone(), value, now, self.late);
    }

    pub(super) fn late(&self, set: &Meta, now: Duration) -> Option<LateSizes> {
        let unanswered = self.unanswered.lock();
        let (version, sizes) = unanswered.get(&set.uid, now)?;
        (*version == set.version).then_some(*sizes)
    }
}

/// Deployments whose Nodes could not be written: their rollouts go on without marks, and these are tried again later.
#[derive(Debug)]
pub(super) struct NodeTroubles {
    failed: Mutex<ExpiringMap<Uid, NodeTrouble>>,
    pause: Duration,
}

impl NodeTroubles {
    pub(super) fn new(pause: Duration) -> Self {
        Self { failed: Mutex::default(), pause }
    }

    pub(super) fn add(&self, deployment: &Uid, cause: Option<String>, now: Duration) {
        let trouble = NodeTrouble { cause, until: now + self.pause };
        self.failed.lock().insert(deployment.clone(), trouble, now, self.pause);
    }

    pub(super) fn of(&self, deployment: &Uid, now: Duration) -> Option<NodeTrouble> {
        self.failed.lock().get(deployment, now).cloned()
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;

    #[test]
    fn a_refusal_of_the_deployment_counts_for_all_its_versions() {
        let meta = |uid: &str, version| {
            let (key, uid) = (ObjectKey::new("ns", uid), Uid(uid.into()));
            Meta { key, uid, version: Version(version), deleting: false }
        };
        let tried = |uid, version| version_tried(&meta("web", 7), &meta(uid, version));
        assert_eq!(tried("web", 7), tried("web", 8));
        assert_ne!(tried("set", 7), tried("set", 8));
    }

    #[test]
    fn a_size_is_late_until_its_time_is_over_or_the_set_changes() {
        let (sizes, at) = (Sizes::new(Duration::from_secs(60)), Duration::from_secs);
        let set = |version| {
            let (key, uid) = (ObjectKey::new("ns", "a"), Uid("u".into()));
            Meta { key, uid, version: Version(version), deleting: false }
        };
        assert_eq!(sizes.late(&set(1), at(1)), None);
        sizes.unanswered(&set(1), 3, at(1));
        let late = LateSizes { least: 3, most: 3, until: at(61) };
        assert_eq!(sizes.late(&set(1), at(2)), Some(late));
        assert_eq!(sizes.late(&set(2), at(2)), None);
        sizes.unanswered(&set(1), 1, at(5));
        let late = LateSizes { least: 1, most: 3, until: at(65) };
        assert_eq!(sizes.late(&set(1), at(64)), Some(late));
        assert_eq!(sizes.late(&set(1), at(66)), None);
    }

    #[test]
    fn a_list_serves_one_state_of_the_sets_and_ends_doubts_if_nothing_is_in_creation() {
        let (lists, uid, now) = (Lists::default(), Uid("u".into()), Duration::from_secs(1));
        assert!(lists.is_doubtful(&uid, now) && !lists.is_listed(&uid, 7, now));
        lists.add(&uid, 7, false, now);
        assert!(lists.is_doubtful(&uid, now) && lists.is_listed(&uid, 7, now));
        assert!(!lists.is_listed(&uid, 8, now));
        lists.add(&uid, 8, true, now);
        assert!(!lists.is_doubtful(&uid, now) && lists.is_listed(&uid, 8, now));
        lists.doubt(&uid);
        assert!(lists.is_doubtful(&uid, now));
    }
}

//! What the controller remembers per deployment. All of it can be lost: a new leader lists everything before its first
//! decision.

use std::time::Duration;

use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::Uid;
use parking_lot::Mutex;

/// Longer than a resync, after which the cache has every Machine.
const MEMORY: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Deployments with a set that was scaled down while some of its Machines were not in the view.
    doubts: Mutex<ExpiringMap<Uid, ()>>,
    /// The state of the sets in which the Machines were listed.
    listed: Mutex<ExpiringMap<Uid, u64>>,
}

impl Lists {
    pub(super) fn doubt(&self, deployment: &Uid, now: Duration) {
        self.doubts.lock().insert(deployment.clone(), (), now, MEMORY);
    }

    pub(super) fn is_doubtful(&self, deployment: &Uid, now: Duration) -> bool {
        self.doubts.lock().get(deployment, now).is_some()
    }

    pub(super) fn is_listed(&self, deployment: &Uid, fingerprint: u64, now: Duration) -> bool {
        self.listed.lock().get(deployment, now) == Some(&fingerprint)
    }

    /// The Machines were listed. `closed`: no Machine was in creation by then, so none is missing in the cache.
    pub(super) fn add(&self, deployment: &Uid, fingerprint: u64, closed: bool, now: Duration) {
        self.listed.lock().insert(deployment.clone(), fingerprint, now, MEMORY);
        if closed {
            self.doubts.lock().remove(deployment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_serves_one_state_of_the_sets_and_ends_doubts_if_nothing_is_in_creation() {
        let (lists, uid, now) = (Lists::default(), Uid("u".into()), Duration::from_secs(1));
        assert!(!lists.is_doubtful(&uid, now) && !lists.is_listed(&uid, 7, now));
        lists.doubt(&uid, now);
        lists.add(&uid, 7, false, now);
        assert!(lists.is_doubtful(&uid, now) && lists.is_listed(&uid, 7, now));
        assert!(!lists.is_listed(&uid, 8, now));
        lists.add(&uid, 8, true, now);
        assert!(!lists.is_doubtful(&uid, now) && lists.is_listed(&uid, 8, now));
    }
}

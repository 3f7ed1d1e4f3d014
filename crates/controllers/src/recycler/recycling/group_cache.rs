//! Descriptions of groups, cached until they expire or the group is changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::expiring::ExpiringMap;
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_provider::node_groups::{Group, GroupName, GroupRef, NodeGroups};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::GroupState;
use crate::recycler::messages;

#[derive(Debug)]
pub struct GroupCache {
    groups: Arc<dyn NodeGroups>,
    clock: SharedClock,
    timeout: Duration,
    cached: Mutex<ExpiringMap<GroupRef, GroupState>>,
}

impl GroupCache {
    pub(super) fn new(groups: Arc<dyn NodeGroups>, clock: SharedClock, timeout: Duration) -> Self {
        Self { groups, clock, timeout, cached: Mutex::default() }
    }

    pub(in crate::recycler) fn cached(&self, group: &GroupRef) -> GroupState {
        self.cached.lock().get(group, self.clock.uptime()).cloned().unwrap_or_default()
    }

    /// The cached description, or a new one that is cached for `ttl`.
    pub(super) async fn get(&self, group: &GroupRef, ttl: Duration) -> GroupState {
        let cached = self.cached(group);
        if !matches!(cached, Observed::NotAsked) {
            return cached;
        }
        self.fill(std::slice::from_ref(group), ttl).await;
        self.cached.lock().get_stale(group).cloned().unwrap_or_default()
    }

    /// Describes groups, with one request per region, and caches the result for `ttl`.
    pub(in crate::recycler) async fn fill(&self, groups: &[GroupRef], ttl: Duration) {
        let mut regions = BTreeMap::<_, Vec<GroupName>>::new();
        for group in groups {
            regions.entry(Arc::clone(&group.region)).or_default().push(group.name.clone());
        }
        self.cached.lock().sweep(self.clock.uptime());
        for (region, names) in regions {
            let result = self.describe(&region, &names).await;
            let now = self.clock.uptime();
            for name in names {
                let find = |groups: &Vec<Group>| {
                    groups.iter().find(|it| it.name == name).cloned().map(Box::new)
                };
                let found = result.as_ref().map(find).map_err(Clone::clone);
                let state = Observed::from(found);
                let group = GroupRef { region: Arc::clone(&region), name };
                self.cached.lock().insert(group, state, now, ttl);
            }
        }
    }

    pub async fn describe_live(&self, group: &GroupRef) -> Result<Option<Box<Group>>, Failure> {
        let names = [group.name.clone()];
        Ok(self.describe(&group.region, &names).await?.pop().map(Box::new))
    }

    async fn describe(&self, region: &str, names: &[GroupName]) -> Result<Vec<Group>, Failure> {
        match tokio::time::timeout(self.timeout, self.groups.describe(region, names)).await {
            Ok(found) => found.map_err(|error| error.failure()),
            Err(_) => Err(Failure {
                category: Category::Unavailable,
                retry: Retry::Backoff,
                message: messages::no_answer(self.timeout),
            }),
        }
    }

    /// Drops the description: the group was changed, or its recycle is over.
    pub fn forget(&self, group: &GroupRef) {
        self.cached.lock().remove(group);
    }

    /// Drops every description: an EventRecycler is gone, and the others describe their groups again.
    pub(in crate::recycler) fn clear(&self) {
        self.cached.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use machinist_runtime::clock::ManualClock;

    use super::*;
    use crate::recycler::tests::cloud::FakeCloud;

    #[tokio::test]
    async fn descriptions_that_expired_are_released_with_the_next_one() {
        let (cloud, clock) = (Arc::<FakeCloud>::default(), Arc::<ManualClock>::default());
        let cache = GroupCache::new(cloud, clock.clone(), Duration::from_secs(1));
        let kept = || cache.cached.lock().live(Duration::ZERO).count();
        for number in 0..20 {
            let group = GroupRef::new("r", format!("group-{number}"));
            cache.fill(&[group], Duration::from_secs(15)).await;
            clock.advance(Duration::from_secs(10));
        }
        assert_eq!(kept(), 2, "the last one, and one that had not expired");
        cache.clear();
        assert_eq!(kept(), 0);
    }
}

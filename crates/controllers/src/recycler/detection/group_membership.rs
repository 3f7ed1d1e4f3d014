//! Which group an instance is in, looked up in the background and in batches per region. An instance stays in its
//! group, so that answer is cached for long; all others expire soon.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{InstanceFacts, InstanceId, NodeGroups};
use machinist_runtime::batch_cache::{BatchCache, BatchSource, BatchTimings};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;

use crate::recycler::messages;

/// The group of an instance: absent where it is in none or does not exist.
pub(super) type Membership = Observed<Arc<str>, String>;

#[derive(Debug, Clone)]
pub struct GroupMembership(BatchCache<Source>);

struct Source {
    groups: Arc<dyn NodeGroups>,
    timings: Timings,
    machines: MachineTimings,
    notify: Box<dyn Fn() + Send + Sync>,
}

impl GroupMembership {
    /// An empty cache. `notify` is called after every batch, and must not block.
    pub fn new(
        groups: Arc<dyn NodeGroups>,
        tasks: Tasks,
        clock: SharedClock,
        timings: Timings,
        machines: MachineTimings,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let batches = BatchTimings {
            gather: machines.gather,
            pause: machines.gather,
            sweep: timings.sync_period,
            size: usize::MAX,
        };
        let source = Source { groups, timings, machines, notify: Box::new(notify) };
        Self(BatchCache::new(source, tasks, clock, batches))
    }

    /// The group of an instance. An answer that expired is used until there is a new one.
    pub(crate) fn get(&self, region: &Arc<str>, instance: &InstanceId) -> Membership {
        let key = (Arc::clone(region), instance.clone());
        let fresh = self.0.look(region, &key, || instance.clone());
        fresh.or_else(|| self.0.get_stale(&key)).unwrap_or_default()
    }
}

impl BatchSource for Source {
    type Lane = Arc<str>;
    type Key = (Arc<str>, InstanceId);
    type Query = InstanceId;
    type Answer = Membership;

    fn fetch<'a>(
        &'a self,
        region: &'a Arc<str>,
        instances: &'a [InstanceId],
    ) -> BoxFuture<'a, Vec<Membership>> {
        Box::pin(async move {
            let request = self.groups.instances(region, instances);
            let result = match tokio::time::timeout(self.timings.cloud_call, request).await {
                Ok(Ok(found)) => {
                    let group_of = |facts: InstanceFacts| Some((facts.id, facts.group?.0));
                    Ok(found.into_iter().filter_map(group_of).collect::<BTreeMap<_, _>>())
                }
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(messages::no_answer(self.timings.cloud_call)),
            };
            if let Err(error) = &result {
                let instances = instances.len();
                tracing::warn!(%error, %region, instances, "cannot look up the groups of instances");
            }
            let of = |instance: &InstanceId| {
                let group = result.as_ref().map(|groups| groups.get(instance).cloned());
                Membership::from(group.map_err(Clone::clone))
            };
            instances.iter().map(of).collect()
        })
    }

    fn ttl(&self, membership: &Membership) -> Duration {
        match membership {
            Observed::Present(_) => self.timings.sync_period,
            Observed::NotAsked | Observed::Unknown(_) | Observed::Absent => {
                self.machines.instance_ttl
            }
        }
    }

    fn fetched(&self, _: &[InstanceId]) {
        (self.notify)();
    }
}

#[cfg(test)]
mod tests;

//! The observed instances, filled in the background in batches: a reconcile never waits for the cloud. A result of an
//! own call is stored at once and stays until a reconcile has used it; otherwise that reconcile would make the call
//! again. Answers to queries from before the call are dropped.

mod compact;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{Cloud, Instance, MachineRef, ObservedInstance};
use machinist_runtime::batch_cache::{BatchCache, BatchSource, BatchTimings};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::tasks::Tasks;

use self::compact::{CompactInstance, CompactMachine};
use super::messages;
use crate::cloud_access::Requeue;
use crate::clouds::Chosen;

const BATCH: usize = 200;

#[derive(Clone)]
pub(super) struct InstanceCache {
    cache: BatchCache<Source>,
    requeue: Requeue,
}

struct Source {
    timings: MachineTimings,
    call_timeout: Duration,
    requeue: Requeue,
}

struct Query {
    machine: CompactMachine,
    cloud: Arc<dyn Cloud>,
}

#[derive(Clone)]
struct Entry {
    instance: CompactInstance,
    /// The result of an own call that no reconcile has used yet.
    unused: bool,
}

impl std::fmt::Debug for InstanceCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.cache.fmt(f)
    }
}

impl InstanceCache {
    /// An empty cache. `requeue` is called for every answer and must not block.
    pub(super) fn new(
        tasks: Tasks,
        clock: SharedClock,
        timings: MachineTimings,
        call_timeout: Duration,
        requeue: Requeue,
    ) -> Self {
        let source = Source { timings, call_timeout, requeue: Arc::clone(&requeue) };
        let batches = BatchTimings {
            gather: timings.gather,
            pause: timings.between_requests,
            sweep: timings.instance_ttl,
            size: BATCH,
        };
        Self { cache: BatchCache::new(source, tasks, clock, batches), requeue }
    }

    /// The instance of a Machine. If it is not cached, the cloud is queried in the background.
    pub(super) fn look(&self, chosen: &Chosen, machine: &MachineRef) -> ObservedInstance {
        let lane = (chosen.provider, machine.access.clone());
        let query = || Query {
            machine: CompactMachine::new(machine.clone()),
            cloud: Arc::clone(&chosen.cloud),
        };
        let entry = self.cache.look(&lane, &machine.uid, query);
        self.used(&machine.uid, entry)
    }

    pub(super) fn get(&self, uid: &Uid) -> ObservedInstance {
        self.used(uid, self.cache.get(uid))
    }

    fn used(&self, uid: &Uid, entry: Option<Entry>) -> ObservedInstance {
        let Some(Entry { instance, unused }) = entry else { return Observed::NotAsked };
        if unused {
            self.cache.update(uid, |entry| entry.unused = false);
        }
        instance.expand()
    }

    pub(super) fn insert(&self, key: &ObjectKey, uid: &Uid, instance: &Arc<Instance>) {
        let instance = Observed::Present(Arc::clone(instance)).into();
        self.cache.insert(uid.clone(), Entry { instance, unused: true });
        (self.requeue)(key);
    }

    pub(super) fn forget(&self, uid: &Uid) {
        self.cache.forget(uid);
    }
}

impl BatchSource for Source {
    type Lane = (&'static str, CloudAccess);
    type Key = Uid;
    type Query = Query;
    type Answer = Entry;

    fn fetch<'a>(&'a self, _: &'a Self::Lane, queries: &'a [Query]) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(async move {
            let Some(Query { cloud, .. }) = queries.first() else { return Vec::new() };
            let machines: Vec<_> = queries.iter().map(|query| query.machine.expand()).collect();
            // A provider that panics must not end the lane.
            let describe = AssertUnwindSafe(async { cloud.describe(&machines).await });
            let describe = describe.catch_unwind();
            let (answers, error) = match tokio::time::timeout(self.call_timeout, describe).await {
                Ok(Ok(answers)) => (answers, messages::NO_ANSWER_FOR_MACHINE.to_owned()),
                Ok(Err(_)) => {
                    tracing::error!(machines = machines.len(), "provider panicked in describe");
                    (Vec::new(), messages::PROVIDER_PANICKED.to_owned())
                }
                Err(_) => (Vec::new(), messages::no_answer_in_time(self.call_timeout)),
            };
            let missing = machines.len().saturating_sub(answers.len());
            let unknown = std::iter::repeat_n(Observed::Unknown(unavailable(error)), missing);
            let entry = |seen: ObservedInstance| Entry { instance: seen.into(), unused: false };
            answers.into_iter().chain(unknown).map(entry).collect()
        })
    }

    /// An instance that is not running is polled, and each poll has to observe it again.
    fn ttl(&self, Entry { instance, unused }: &Entry) -> Duration {
        let MachineTimings { instance_ttl, poll, creation, .. } = self.timings;
        let ttl = if instance.is_running() { instance_ttl } else { instance_ttl.min(poll / 2) };
        // Workers may be late with the reconcile that uses it.
        if *unused { ttl.max(creation / 4) } else { ttl }
    }

    fn fetched(&self, queries: &[Query]) {
        for query in queries {
            (self.requeue)(&query.machine.machine.key);
        }
    }
}

fn unavailable(message: String) -> Failure {
    Failure { category: Category::Unavailable, retry: Retry::Backoff, message }
}

#[cfg(test)]
mod tests;

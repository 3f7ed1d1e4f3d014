//! Freezes that are found by counting what caches have. Controllers register a counter and ask for a recount after
//! relevant changes; a task per reason counts then. Directly before a change that a controller decides by itself,
//! everything is counted again, so no such change is sent against a freeze that the caches show. No request is sent.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::safety::threshold::State;
use machinist_domain::safety::{Gauge, Limit, Limits, Reason, Scope, messages};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Freezes;
use crate::cache::AnyCache;
use crate::messages::monitor_task;
use crate::tasks::Tasks;
use crate::timings::FreezeTimings;

pub(super) struct Monitors {
    all: Vec<Monitor>,
    timings: FreezeTimings,
}

struct Monitor {
    reason: Reason,
    limit: Limit,
    state: Mutex<State>,
    counters: RwLock<Vec<Arc<Counter>>>,
    recount: Recount,
}

struct Counter {
    /// What is counted, in the plural.
    what: &'static str,
    /// What it reads.
    caches: Vec<Arc<dyn AnyCache>>,
    count: Box<dyn Fn() -> Gauge + Send + Sync>,
}

/// Requests that a reason is counted again soon.
#[derive(Debug, Clone, Default)]
pub struct Recount(Arc<Notify>);

impl Recount {
    pub fn request(&self) {
        self.0.notify_one();
    }
}

impl Monitors {
    pub(super) fn new(limits: Limits, timings: FreezeTimings) -> Self {
        let monitor = |reason, limit| Monitor {
            reason,
            limit,
            state: Mutex::default(),
            counters: RwLock::default(),
            recount: Recount::default(),
        };
        Self { all: vec![monitor(Reason::NodesNotReady, limits.not_ready)], timings }
    }

    /// Waits until everything that is counted has its first list.
    pub(super) async fn wait_synced(&self) {
        for counter in self.all.iter().flat_map(Monitor::counters) {
            for cache in &counter.caches {
                cache.wait_synced().await;
            }
        }
    }
}

impl Monitor {
    fn counters(&self) -> Vec<Arc<Counter>> {
        self.counters.read().clone()
    }
}

impl Freezes {
    /// Counts `what` for a reason. `None` if it is counted already: controllers share caches.
    pub fn count(
        self: &Arc<Self>,
        tasks: &Tasks,
        reason: Reason,
        what: &'static str,
        caches: Vec<Arc<dyn AnyCache>>,
        count: impl Fn() -> Gauge + Send + Sync + 'static,
    ) -> Option<Recount> {
        let at = self.monitors.all.iter().position(|monitor| monitor.reason == reason)?;
        let monitor = self.monitors.all.get(at)?;
        let mut counters = monitor.counters.write();
        if counters.iter().any(|counter| counter.what == what) {
            return None;
        }
        if counters.is_empty() {
            let task = Arc::clone(self).keep_counting(at, tasks.stopping());
            tasks.spawn(monitor_task(reason), task);
        }
        counters.push(Arc::new(Counter { what, caches, count: Box::new(count) }));
        monitor.recount.request();
        Some(monitor.recount.clone())
    }

    async fn keep_counting(self: Arc<Self>, at: usize, stop: CancellationToken) {
        let Some(monitor) = self.monitors.all.get(at) else { return };
        let counting = async {
            let mut next = None;
            loop {
                let ends = async {
                    match next {
                        Some(next) => tokio::time::sleep(next).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = monitor.recount.0.notified() => {
                        tokio::time::sleep(self.monitors.timings.gather).await;
                    }
                    () = ends => {}
                }
                self.monitors.wait_synced().await;
                next = self.evaluate(monitor);
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = counting => {}
        }
    }

    /// Counts for every reason.
    pub(super) fn count_now(&self) {
        for monitor in &self.monitors.all {
            self.evaluate(monitor);
        }
    }

    /// Counts, and begins or ends the freeze. Returns when to count again although nothing changes.
    fn evaluate(&self, monitor: &Monitor) -> Option<Duration> {
        let (hold, uptime) = (self.monitors.timings.hold, self.clock.uptime());
        // Locked while it counts: of two evaluations, the later one has counted later.
        let mut state = monitor.state.lock();
        let counters = monitor.counters();
        let synced =
            |counter: &&Arc<Counter>| counter.caches.iter().all(|cache| cache.state().synced);
        let counted = counters.iter().filter(synced).map(|one| (one.what, (one.count)()));
        let counted: Vec<_> = counted.collect();
        let gauges: Vec<_> = counted.iter().map(|(_, gauge)| *gauge).collect();
        let before = *state;
        *state = before.next(&gauges, monitor.limit, hold, uptime);
        let after = *state;
        let changes = before.is_frozen() != after.is_frozen();
        if changes {
            let first = counted.iter().find(|(_, gauge)| monitor.limit.keeps(*gauge));
            let text = first.filter(|_| after.is_frozen()).map(|(what, gauge)| {
                messages::too_many_not_ready(*gauge, what, monitor.limit).into()
            });
            self.put(&Scope::Cluster, monitor.reason, text.map(|text| ("".into(), text)));
        }
        drop(state);
        if changes {
            self.notify(&Scope::Cluster);
        }
        after.ends_in(hold, uptime)
    }
}

#[cfg(test)]
mod tests;

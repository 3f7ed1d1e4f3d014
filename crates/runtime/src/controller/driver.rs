//! Runs the reconciles of one controller: bounded workers, one reconcile per key at a time, requeues as reported.
//! Workers run only while the controller may write. On shutdown a worker finishes its reconcile in the grace period.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::NODES;
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::{EventNote, EventType, ReconcileResult, Report};
use machinist_domain::retry::{Classified, Retry};
use machinist_domain::safety::{ObjectRef, with_condition};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::Controller;
use super::messages;
use super::pending_events::{self, PendingEvents};
use super::start::Shared;
use crate::cluster::ApiError;
use crate::events::Regarding;
use crate::lease::Leadership;
use crate::queue::Queue;
use crate::self_writes::SelfWrites;
use crate::writer::{Behalf, WriteError, Writer};

pub(super) struct Driver<C> {
    pub(super) controller: C,
    pub(super) queue: Arc<Queue>,
    pub(super) writer: Writer,
    pub(super) pending_events: PendingEvents,
    pub(super) shared: Arc<Shared>,
    pub(super) workers: usize,
    pub(super) reconciles: AtomicU64,
}

/// A key that a worker holds. `Drop` returns it to the queue even if the reconcile is aborted.
struct Claimed<'a> {
    queue: &'a Queue,
    key: ObjectKey,
    writes: SelfWrites,
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The next attempt may succeed, but must not run in a loop.
            self.queue.drop_self_caused(&self.key, &self.writes);
            self.queue.add_after_failure(&self.key, Duration::ZERO);
        }
        self.queue.done(&self.key);
    }
}

impl<C: Controller> Driver<C> {
    /// Runs until `stop`. No write is in flight when it returns.
    pub(super) async fn run(self, stop: CancellationToken) {
        for cache in self.controller.caches() {
            if stop.run_until_cancelled(cache.wait_synced()).await.is_none() {
                return;
            }
        }
        if C::DECLARATION.obeys_freezes() {
            let known = self.shared.freezes.wait_known();
            if stop.run_until_cancelled(known).await.is_none() {
                return;
            }
            self.follow_freezes();
        }
        self.controller.subscribe(&self.queue);
        let driver = Arc::new(self);
        while !stop.is_cancelled() {
            let ready = async {
                driver.queue.follow(!matches!(driver.writer.leadership, Leadership::NotNeeded));
                driver.writer.leadership.wait_gained().await;
                driver.queue.follow(false);
                driver.verify_caches().await;
            };
            if stop.run_until_cancelled(ready).await.is_some() {
                driver.work(&stop).await;
            }
        }
    }

    /// Reconciles what a freeze covers when it begins, changes or ends.
    fn follow_freezes(&self) {
        let Some(cache) = self.controller.caches().into_iter().next() else { return };
        let queue = Arc::downgrade(&self.queue);
        self.shared.freezes.subscribe(move |scope| {
            let Some(queue) = queue.upgrade() else { return };
            let keys = cache.keys();
            keys.iter().filter(|key| scope.reaches(&key.namespace)).for_each(|key| queue.add(key));
        });
    }

    /// On whose behalf a reconcile of this key writes; `None` if no freeze stops this controller.
    fn behalf(&self, key: &ObjectKey) -> Option<Behalf> {
        let cache = self.controller.caches().into_iter().next()?;
        let object = ObjectRef { kind: cache.resource().kind, key: key.clone() };
        C::DECLARATION.obeys_freezes().then(|| Behalf::of(&self.shared.freezes, object))
    }

    /// A new leader does not trust caches that it filled as a follower.
    async fn verify_caches(&self) {
        if matches!(self.writer.leadership, Leadership::NotNeeded) {
            return;
        }
        for cache in self.controller.caches() {
            let mut failures = 0;
            while let Err(error) = cache.verify().await {
                failures += 1;
                tracing::warn!(%error, resource = %cache.resource(), "list by the new leader failed");
                let delay = self.shared.timings.reconnect.delay(failures, fastrand::f64());
                tokio::time::sleep(delay).await;
            }
        }
        for key in self.controller.caches().first().map(|cache| cache.keys()).unwrap_or_default() {
            self.queue.add(&key);
        }
    }

    async fn work(self: &Arc<Self>, stop: &CancellationToken) {
        let halt = stop.child_token();
        let mut workers = JoinSet::new();
        self.queue.workers_run(true);
        for _ in 0..self.workers {
            workers.spawn(Arc::clone(self).worker(halt.clone()));
        }
        loop {
            tokio::select! {
                () = self.writer.leadership.wait_lost() => break,
                () = stop.cancelled() => break,
                // Before `halt` a worker ends only by a panic; it is replaced.
                Some(ended) = workers.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(controller = C::NAME, %error, "reconcile panicked");
                        self.shared.metrics.reconciled(C::NAME, "panicked", Duration::ZERO);
                    }
                    workers.spawn(Arc::clone(self).worker(halt.clone()));
                }
            }
        }
        halt.cancel();
        let finish = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.shared.timings.stop_grace, finish).await.is_err() {
            tracing::warn!(controller = C::NAME, "aborting reconciles that did not finish in time");
            workers.shutdown().await;
        }
        self.queue.workers_run(false);
    }

    async fn worker(self: Arc<Self>, halt: CancellationToken) {
        while let Some(key) = halt.run_until_cancelled(self.queue.take()).await {
            let writes = SelfWrites::default();
            self.reconcile(&Claimed { queue: &self.queue, key, writes }).await;
        }
    }

    async fn reconcile(&self, claimed: &Claimed<'_>) {
        let key = &claimed.key;
        let id = self.reconciles.fetch_add(1, Ordering::Relaxed);
        let span = tracing::info_span!("reconcile", controller = C::NAME, %key, id);
        let writer = self.writer.for_reconcile(&claimed.writes, self.behalf(key).as_ref());
        let began = self.shared.clock.uptime();
        let (result, retry) = self.stages(key, &writer).instrument(span).await;
        let took = self.shared.clock.uptime().saturating_sub(began);
        self.shared.metrics.reconciled(C::NAME, result.as_str(), took);
        let retry = match retry {
            // The reconcile waits for a change, but its write changed nothing.
            None | Some(Retry::OnChange) if claimed.writes.had_no_effect() => Some(Retry::Backoff),
            retry => retry,
        };
        let pauses = match retry {
            Some(Retry::Backoff | Retry::After(_)) => true,
            Some(Retry::Again(_)) => result == ReconcileResult::Failed,
            Some(Retry::OnChange | Retry::Soon) | None => false,
        };
        if pauses {
            // The status update about the failure must not end the backoff.
            self.queue.drop_self_caused(key, &claimed.writes);
        }
        self.queue.retry(key, retry);
    }

    async fn stages(&self, key: &ObjectKey, writer: &Writer) -> (ReconcileResult, Option<Retry>) {
        let snapshot = match self.controller.observe(key).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => {
                self.pending_events.forget(key);
                return (ReconcileResult::Settled, None);
            }
            Err(error) => {
                tracing::warn!(%error, "observe failed");
                self.report_unreadable(key, &error).await;
                // A fix of permissions does not change the object.
                return (ReconcileResult::Failed, Some(error.retry().or_backoff()));
            }
        };
        let plan = self.controller.decide(&snapshot, self.shared.clock.now());
        tracing::debug!(%plan, "decided");
        let outcome = self.controller.act(&snapshot, &plan, writer).await;
        let now = self.shared.clock.now();
        let report = self.controller.report(&snapshot, &plan, &outcome, now);
        let mut report = match writer.behalf() {
            Some(behalf) => frozen(report, self.controller.conditions(&snapshot), behalf, now),
            None => report,
        };
        let mut unwritten = None;
        if let Some(status) = &report.status {
            let wrote = self.controller.write_status(&snapshot, &plan, status, writer);
            match wrote.await {
                Ok(_) => {}
                Err(error) if error.not_found() => return (report.result, None),
                Err(error) => {
                    if let WriteError::Api(error) = &error {
                        report.events.extend(messages::cannot_update_status(error));
                    }
                    unwritten = Some(error);
                }
            }
        }
        // Events are published even if the status update failed: the next reconcile does not repeat them.
        let pending =
            self.publish(key, &self.controller.regarding(&snapshot), &report.events).await;
        let retry = match pending {
            None => report.retry,
            Some(error) => {
                pending_events::retry(report.retry, error.retry(), self.shared.timings.retry.max)
            }
        };
        match unwritten {
            None => (report.result, retry),
            Some(error) if error.conflict() => (report.result, Some(error.retry())),
            // The report's retry may be later than a missing status allows, and a fix of webhooks is no change.
            Some(error) => (ReconcileResult::Failed, Some(error.retry().or_backoff())),
        }
    }

    /// Reports a failed `observe` on the object, if a person has to act.
    async fn report_unreadable(&self, key: &ObjectKey, error: &ApiError) {
        let caches = self.controller.caches();
        let (Some(note), Some(cache)) = (messages::cannot_read(error), caches.first()) else {
            return;
        };
        if let Some(meta) = cache.meta(key) {
            let regarding = Regarding { resource: cache.resource(), meta: &meta };
            drop(self.publish(key, &regarding, &[note]).await);
        }
    }

    async fn publish(
        &self,
        key: &ObjectKey,
        regarding: &Regarding<'_>,
        notes: &[EventNote],
    ) -> Option<WriteError> {
        for note in notes {
            let (reason, text) = (note.reason.as_str(), &note.note);
            match note.event_type {
                EventType::Normal => tracing::info!(reason, note = text, "event"),
                EventType::Warning => tracing::warn!(reason, note = text, "event"),
            }
        }
        let uid = &regarding.meta.uid;
        let mut all = self.pending_events.take(key, uid);
        all.retain(|note| !notes.contains(note));
        all.extend_from_slice(notes);
        let (mut pending, mut error) = (Vec::new(), None);
        for note in all {
            let regarding = match note.about.as_deref() {
                Some((resource, meta)) => Regarding { resource: *resource, meta },
                None => *regarding,
            };
            // An Event is in the cluster of its object.
            let is_of_node = regarding.resource == NODES;
            let writer = if is_of_node { self.writer.target() } else { &self.writer };
            if let Err(refusal) =
                self.shared.events.publish(writer, C::NAME, regarding, &note).await
            {
                if pending_events::is_permanent(&refusal) {
                    continue;
                }
                pending.push(note);
                error = Some(refusal);
            }
        }
        self.pending_events.keep(key, uid, pending);
        error
    }
}

/// The report with what a freeze adds. What it stopped waits for its end, whatever the controller makes of the refusal.
fn frozen(
    report: Report,
    conditions: Option<Vec<Condition>>,
    behalf: &Behalf,
    now: Timestamp,
) -> Report {
    let freeze = behalf.freeze();
    let mut report = match conditions {
        Some(stored) => with_condition(report, &stored, freeze.as_ref(), now),
        None => report,
    };
    if let Some(refusal) = behalf.refusal() {
        // It may have ended since, before this reconcile could be requeued by that.
        report.result = ReconcileResult::Waiting;
        report.retry = Some(if freeze.is_some() { refusal.retry() } else { Retry::Soon });
    }
    report
}

#[cfg(test)]
mod tests;

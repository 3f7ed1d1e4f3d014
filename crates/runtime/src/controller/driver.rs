//! Turns keys into passes: bounded workers, one pass per key at a time, retries as the report says.
//!
//! Workers run only while the controller may write. A new leader lists its caches once, consistently, and looks at everything, before it
//! decides anything. When told to stop, a worker finishes the pass in hand, within the grace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use machinist_api::resource::NODES;
use machinist_domain::key::ObjectKey;
use machinist_domain::report::{EventNote, EventType, ReconcileResult};
use machinist_domain::retry::{Classified, Retry};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::Controller;
use super::refused;
use super::unsaid::{self, Unsaid};
use crate::clock::SharedClock;
use crate::cluster::ApiError;
use crate::events::{Events, Regarding};
use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::self_writes::SelfWrites;
use crate::timings::Timings;
use crate::writer::{WriteError, Writer};

/// Everything that the passes of one controller need.
pub(super) struct Driver<C> {
    pub(super) controller: C,
    pub(super) queue: Arc<Queue>,
    pub(super) writer: Writer,
    pub(super) leadership: Leadership,
    pub(super) events: Arc<Events>,
    pub(super) unsaid: Unsaid,
    pub(super) metrics: Arc<Metrics>,
    pub(super) clock: SharedClock,
    pub(super) timings: Timings,
    pub(super) workers: usize,
    pub(super) passes: AtomicU64,
}

/// A key that a worker has. Given back also when the worker is abandoned in the middle of a pass: nobody else could ever take it otherwise.
struct InHand<'a> {
    queue: &'a Queue,
    key: ObjectKey,
    writes: SelfWrites,
}

impl<'a> InHand<'a> {
    fn new(queue: &'a Queue, key: ObjectKey) -> Self {
        Self { queue, key, writes: SelfWrites::default() }
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The pass did not end. Whatever made it panic may be gone next time; until then it must not be tried in a loop.
            self.queue.drop_self_caused(&self.key, &self.writes);
            self.queue.add_after_failure(&self.key, Duration::ZERO);
        }
        self.queue.done(&self.key);
    }
}

impl<C: Controller> Driver<C> {
    /// Runs until `stop`; when this returns, no write is under way.
    pub(super) async fn run(self, stop: CancellationToken) {
        for cache in self.controller.caches() {
            if stop.run_until_cancelled(cache.wait_synced()).await.is_none() {
                return;
            }
        }
        self.controller.subscribe(&self.queue);
        let driver = Arc::new(self);
        while !stop.is_cancelled() {
            let ready = async {
                driver.leadership.wait_gained().await;
                driver.verify_caches().await;
            };
            if stop.run_until_cancelled(ready).await.is_some() {
                driver.work(&stop).await;
            }
        }
    }

    /// A new leader trusts no cache that it filled as a follower.
    async fn verify_caches(&self) {
        if matches!(self.leadership, Leadership::NotNeeded) {
            return;
        }
        for cache in self.controller.caches() {
            let mut failures = 0;
            while let Err(error) = cache.verify().await {
                failures += 1;
                tracing::warn!(%error, resource = %cache.resource(), "a new leader could not list");
                let delay = self.timings.reconnect.delay(failures, fastrand::f64());
                tokio::time::sleep(delay).await;
            }
        }
        for key in self.controller.caches().first().map(|cache| cache.keys()).unwrap_or_default() {
            self.queue.add(&key);
        }
    }

    /// Works until the lease is lost or `stop`.
    async fn work(self: &Arc<Self>, stop: &CancellationToken) {
        let halt = stop.child_token();
        let mut workers = JoinSet::new();
        for _ in 0..self.workers {
            workers.spawn(Arc::clone(self).worker(halt.clone()));
        }
        loop {
            tokio::select! {
                () = self.leadership.wait_lost() => break,
                () = stop.cancelled() => break,
                // A worker ends before it is told to only by a panic, which must not cost the controller a worker.
                Some(ended) = workers.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(controller = C::NAME, %error, "a pass panicked");
                        self.metrics.reconciled(C::NAME, "panicked", Duration::ZERO);
                    }
                    workers.spawn(Arc::clone(self).worker(halt.clone()));
                }
            }
        }
        halt.cancel();
        let finish = async { while workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.timings.stop_grace, finish).await.is_err() {
            tracing::warn!(controller = C::NAME, "abandoning what did not finish in time");
            workers.shutdown().await;
        }
    }

    async fn worker(self: Arc<Self>, halt: CancellationToken) {
        while let Some(key) = halt.run_until_cancelled(self.queue.take()).await {
            self.pass(&InHand::new(&self.queue, key)).await;
        }
    }

    async fn pass(&self, in_hand: &InHand<'_>) {
        let key = &in_hand.key;
        let id = self.passes.fetch_add(1, Ordering::Relaxed);
        let span = tracing::info_span!("reconcile", controller = C::NAME, %key, id);
        let writer = self.writer.for_reconcile(&in_hand.writes);
        let began = self.clock.uptime();
        let (result, retry) = self.stages(key, &writer).instrument(span).await;
        self.metrics.reconciled(
            C::NAME,
            result.as_str(),
            self.clock.uptime().saturating_sub(began),
        );
        let retry = match retry {
            // It waits for a change, and there is none: the object is as it was.
            None | Some(Retry::OnChange) if in_hand.writes.had_no_effect() => Some(Retry::Backoff),
            retry => retry,
        };
        let pauses = match retry {
            Some(Retry::Backoff | Retry::After(_)) => true,
            Some(Retry::Again(_)) => result == ReconcileResult::Failed,
            Some(Retry::OnChange | Retry::Soon) | None => false,
        };
        if pauses {
            // What it wrote about the failure must not bring it back at once.
            self.queue.drop_self_caused(key, &in_hand.writes);
        }
        self.queue.retry(key, retry);
    }

    async fn stages(&self, key: &ObjectKey, writer: &Writer) -> (ReconcileResult, Option<Retry>) {
        let snapshot = match self.controller.observe(key).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => {
                self.unsaid.forget(key);
                return (ReconcileResult::Settled, None);
            }
            Err(error) => {
                tracing::warn!(%error, "could not look");
                self.tell_blind(key, &error).await;
                return (ReconcileResult::Failed, Some(refused::retry(&error)));
            }
        };
        let plan = self.controller.decide(&snapshot, self.clock.now());
        tracing::debug!(%plan, "decided");
        let outcome = self.controller.act(&snapshot, &plan, writer).await;
        let mut report = self.controller.report(&snapshot, &plan, &outcome, self.clock.now());
        let mut unwritten = None;
        if let Some(status) = &report.status {
            let wrote = self.controller.write_status(&snapshot, &plan, status, writer);
            match wrote.await {
                Ok(_) => {}
                // Whoever deleted it has no use for its status.
                Err(error) if error.not_found() => return (report.result, None),
                Err(error) => {
                    if let WriteError::Api(error) = &error {
                        let note = refused::note("the status could not be written", error);
                        report.events.extend(note);
                    }
                    unwritten = Some(error);
                }
            }
        }
        // What has happened has happened, whatever became of the status: the next pass will not say it again.
        let unsaid = self.say(key, &self.controller.regarding(&snapshot), &report.events).await;
        let retry = match unsaid {
            None => report.retry,
            // The pass went as it did, whether or not it could be told.
            Some(error) => unsaid::retry(report.retry, error.retry(), self.timings.retry.max),
        };
        match unwritten {
            None => (report.result, retry),
            // Somebody else was faster: no failure, but another look.
            Some(error) if error.conflict() => (report.result, Some(error.retry())),
            // The report's own retry may be more patient than a missing status allows.
            Some(error) => (ReconcileResult::Failed, Some(refused::retry(&error))),
        }
    }

    /// Says on the object that nobody could look at what it needs, if people can mend that.
    async fn tell_blind(&self, key: &ObjectKey, error: &ApiError) {
        let caches = self.controller.caches();
        let (Some(note), Some(cache)) = (refused::note("could not look", error), caches.first())
        else {
            return;
        };
        if let Some(meta) = cache.meta(key) {
            let regarding = Regarding { resource: cache.resource(), meta: &meta };
            // Where it cannot be said, either, the pass comes back all the same.
            drop(self.say(key, &regarding, &[note]).await);
        }
    }

    /// Writes Events, after those that could not be written before. Returns why some are left to be said, if they are.
    async fn say(
        &self,
        key: &ObjectKey,
        regarding: &Regarding<'_>,
        notes: &[EventNote],
    ) -> Option<WriteError> {
        for note in notes {
            let (reason, text) = (note.reason.as_str(), &note.note);
            match note.event_type {
                EventType::Normal => tracing::info!(reason, note = text, "reported"),
                EventType::Warning => tracing::warn!(reason, note = text, "reported"),
            }
        }
        // An Event stands beside its object.
        let is_of_node = regarding.resource == NODES;
        let writer = if is_of_node { self.writer.target() } else { &self.writer };
        let uid = &regarding.meta.uid;
        let mut all = self.unsaid.take(key, uid);
        all.retain(|note| !notes.contains(note));
        all.extend_from_slice(notes);
        let (mut unsaid, mut error) = (Vec::new(), None);
        for note in all {
            if let Err(refusal) = self.events.publish(writer, C::NAME, *regarding, &note).await {
                if unsaid::is_futile(&refusal) {
                    continue;
                }
                unsaid.push(note);
                error = Some(refusal);
            }
        }
        self.unsaid.keep(key, uid, unsaid);
        error
    }
}

#[cfg(test)]
mod tests;

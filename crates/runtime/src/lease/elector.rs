//! Acquires, renews and releases a lease.
//!
//! A follower watches the Lease and sleeps until the expiry that it computed. The holder renews every 2/15 of the
//! duration and may write until 2/3 of the duration after it sent its last renewal; the last third is for writes in
//! flight. Any failure leads to a warm follower that tries again, never to an exit.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machinist_api::resource::{LEASES, push_encoded};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::leadership::{Leadership, Unanswered};
use super::name::Candidate;
use super::record::{Record, Update};
use super::rules::{Claim, Observation, Step, decide};
use crate::clock::SharedClock;
use crate::cluster::session::Lines;
use crate::cluster::{ApiError, Session};
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::timings::Timings;
use crate::writer::{Gateway, Verb, Write, WriteError};

/// A lease that was just acquired.
struct Gained {
    /// The deadline for writes without a renewal.
    until: Duration,
    /// Before this, nothing is written: the former holder may not have noticed the takeover.
    quiet_until: Duration,
}

/// Acquires, renews and releases one lease.
#[derive(Debug)]
pub struct Elector {
    name: Candidate,
    session: Session,
    gateway: Arc<Gateway>,
    clock: SharedClock,
    timings: Timings,
    metrics: Arc<Metrics>,
    readiness: Arc<Readiness>,
    until: watch::Sender<Option<Duration>>,
    /// Whether an acquisition is in flight, so that the holder is unknown.
    taking: watch::Sender<bool>,
    /// Until when the former holder may not have noticed a takeover.
    quiet_until: Mutex<Duration>,
    unanswered: Unanswered,
}

impl Elector {
    /// An elector that is not running yet.
    pub fn new(
        name: Candidate,
        session: Session,
        gateway: Arc<Gateway>,
        clock: SharedClock,
        timings: Timings,
        metrics: Arc<Metrics>,
        readiness: Arc<Readiness>,
    ) -> Self {
        let until = watch::Sender::new(None);
        metrics.leader(name.controller, false);
        readiness.lease_is_held(name.controller, &name.key, "", false);
        Self {
            name,
            session,
            gateway,
            clock,
            timings,
            metrics,
            readiness,
            until,
            taking: watch::Sender::new(false),
            quiet_until: Mutex::default(),
            unanswered: Arc::default(),
        }
    }

    /// The writers' view of the lease.
    pub fn leadership(&self) -> Leadership {
        Leadership::Lease {
            until: self.until.subscribe(),
            clock: Arc::clone(&self.clock),
            unanswered: Arc::clone(&self.unanswered),
        }
    }

    /// Runs until `stop`, then releases the lease. Stop it only after the last write was answered.
    pub async fn run(self, stop: CancellationToken) {
        let mut observed = Observation { record: None, changed: self.clock.uptime() };
        let deadline = {
            let mut elect = pin!(self.elect(&mut observed, &stop));
            stop.run_until_cancelled(elect.as_mut()).await;
            // An unreachable API server must not delay the exit; the lease then expires.
            let patience = self.timings.stop_grace / 2;
            let deadline = self.clock.uptime() + patience;
            let mut taking = self.taking.subscribe();
            tokio::select! {
                biased;
                _ = taking.wait_for(|taking| !taking) => {}
                // A cancelled acquisition may still be executed and leave an orphaned lease: wait for its answer.
                () = elect => {}
                () = tokio::time::sleep(patience) => {}
            }
            deadline
        };
        self.release(&observed, deadline).await;
    }

    /// Alternates between following and leading until `stop`.
    async fn elect(&self, observed: &mut Observation, stop: &CancellationToken) {
        let mut force = self.name.take_over;
        loop {
            let gained = self.follow(observed, force).await;
            if stop.is_cancelled() {
                return;
            }
            force = false;
            self.lead(observed, gained).await;
        }
    }

    /// Returns when the lease is acquired.
    async fn follow(&self, observed: &mut Observation, force: bool) -> Gained {
        let mut news = None;
        let claim = Claim { me: &self.name.identity, duration: self.timings.lease, force };
        self.look(observed).await;
        loop {
            let step = decide(observed, claim, self.clock.uptime());
            let update = match &step {
                Step::Wait(expiry) => {
                    self.watch_until(observed, *expiry, &mut news).await;
                    continue;
                }
                Step::Create => {
                    Update::first(&self.name.identity, self.timings.lease, self.clock.now())
                }
                Step::Take(record) | Step::TakeOver(record) => {
                    record.held_by(&self.name.identity, self.timings.lease, self.clock.now())
                }
            };
            let sent = self.clock.uptime();
            if self.take(observed, &update, step == Step::Create).await {
                return self.gained(&step, sent);
            }
            // Usually another process was faster, and there is a lease to watch. Otherwise the next attempt waits.
            let next = decide(observed, claim, self.clock.uptime());
            if !matches!(next, Step::Wait(_)) {
                tokio::time::sleep(self.pause()).await;
                self.look(observed).await;
            }
        }
    }

    /// Tries to acquire the lease. After a failure it is read, because the answer may have been lost.
    async fn take(&self, observed: &mut Observation, update: &Update, create: bool) -> bool {
        self.taking.send_replace(true);
        let taken = self.write(observed, update, create).await;
        if let Err(error) = &taken {
            tracing::debug!(%error, lease = %self.name.key, "lease not acquired");
            self.look(observed).await;
        }
        self.taking.send_replace(false);
        taken.is_ok()
    }

    /// Renews the lease; returns when it is lost.
    async fn lead(&self, observed: &mut Observation, gained: Gained) {
        let Gained { mut until, quiet_until } = gained;
        loop {
            let silence = quiet_until.saturating_sub(self.clock.uptime());
            let mut pause = self.timings.lease_retry();
            if silence.is_zero() {
                self.may_write(until);
            } else {
                pause = pause.min(silence);
            }
            tokio::time::sleep(pause).await;
            let sent = self.clock.uptime();
            if sent >= until {
                return self.lost("it could not be renewed in time");
            }
            let Some(record) = observed.record.clone() else {
                return self.lost("it is gone");
            };
            let update = record.held_by(&self.name.identity, self.timings.lease, self.clock.now());
            let left = until.saturating_sub(sent);
            match tokio::time::timeout(left, self.write(observed, &update, false)).await {
                Ok(Ok(())) => {
                    until = sent + self.timings.renew_deadline();
                }
                Err(_) => return self.lost("it could not be renewed in time"),
                Ok(Err(WriteError::Api(ApiError::Refused { code: 404 | 409, .. }))) => {
                    // Another holder, or a lost answer: read the Lease.
                    self.look(observed).await;
                    if observed.holder() != self.name.identity {
                        return self.lost("another process holds it");
                    }
                    // The read may have exceeded the deadline; then only a renewal restores the right to write.
                    if self.clock.uptime() >= until {
                        return self.lost("it could not be renewed in time");
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = %self.name.key, "lease not renewed; retrying");
                }
            }
        }
    }

    fn gained(&self, step: &Step, sent: Duration) -> Gained {
        let mut quiet_until = sent;
        if let Step::TakeOver(record) = step {
            quiet_until += record.lasts(self.timings.lease);
            let (lease, from) = (&self.name.key, &record.holder);
            tracing::warn!(%lease, from, "lease taken over; waiting until the former holder has noticed");
        }
        *self.quiet_until.lock() = quiet_until;
        Gained { until: sent + self.timings.renew_deadline(), quiet_until }
    }

    fn may_write(&self, until: Duration) {
        if self.until.send_replace(Some(until)).is_none() {
            tracing::info!(controller = self.name.controller, lease = %self.name.key, "leading");
            self.metrics.leader(self.name.controller, true);
        }
    }

    /// Reports the loss once; the right to write has expired before.
    fn lost(&self, reason: &str) {
        if self.until.send_replace(None).is_some() {
            tracing::warn!(controller = self.name.controller, lease = %self.name.key, reason, "lost the lease");
            self.metrics.leader(self.name.controller, false);
        }
    }

    async fn release(&self, observed: &Observation, deadline: Duration) {
        self.until.send_replace(None);
        self.metrics.leader(self.name.controller, false);
        let ours = |record: &&Record| record.holder == self.name.identity;
        let Some(record) = observed.record.as_ref().filter(ours) else { return };
        if self.has_write_under_way() {
            tracing::warn!(lease = %self.name.key, "lease not released, it has to expire: a write is in flight");
            return;
        }
        if self.clock.uptime() < *self.quiet_until.lock() {
            let lease = &self.name.key;
            tracing::warn!(%lease, "lease not released, it has to expire: the former holder may still write");
            return;
        }
        let patience = deadline.saturating_sub(self.clock.uptime());
        match tokio::time::timeout(patience, self.give_back(record)).await {
            Ok(Ok(())) => tracing::info!(lease = %self.name.key, "lease released"),
            Ok(Err(error)) => {
                tracing::warn!(%error, lease = %self.name.key, "lease not released");
            }
            Err(_) => tracing::warn!(lease = %self.name.key, "lease not released in time"),
        }
    }

    /// Whether a write without an answer may still be executed after another process leads.
    fn has_write_under_way(&self) -> bool {
        let given_up = *self.unanswered.lock();
        given_up.is_some_and(|at| self.clock.uptime().saturating_sub(at) < self.timings.lease)
    }

    async fn give_back(&self, record: &Record) -> Result<(), WriteError> {
        let plan = "give the lease back";
        match self.send(&record.released(self.clock.now()), false, plan).await {
            // An unanswered renewal may have been executed first: read the Lease.
            Err(WriteError::Api(ApiError::Refused { code: 409, .. })) => {}
            other => return other.map(drop),
        }
        match self.read().await? {
            Some(record) if record.holder == self.name.identity => {
                self.send(&record.released(self.clock.now()), false, plan).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    async fn write(
        &self,
        observed: &mut Observation,
        update: &Update,
        create: bool,
    ) -> Result<(), WriteError> {
        let record = self.send(update, create, "hold the lease").await?;
        self.see(observed, Some(record));
        Ok(())
    }

    /// Stores the observed Lease and logs a new holder.
    fn see(&self, observed: &mut Observation, record: Option<Record>) {
        let before = observed.holder().to_owned();
        observed.see(record, self.clock.uptime());
        let holder = observed.holder();
        if holder == before {
            return;
        }
        let ours = holder == self.name.identity;
        let Candidate { controller, key, .. } = &self.name;
        if !ours && !holder.is_empty() {
            tracing::info!(controller, lease = %key, holder, "following");
        }
        self.metrics.lease_changed_hands(key, &before, holder);
        self.readiness.lease_is_held(controller, key, holder, ours);
    }

    async fn send(&self, update: &Update, create: bool, plan: &str) -> Result<Record, WriteError> {
        let verb = if create { Verb::Create } else { Verb::Replace };
        let body = update.to_json(&self.name.key);
        let write = Write::whole(verb, LEASES, &self.name.key, &body);
        // Writing the Lease cannot require the lease.
        let answer = self
            .gateway
            .send(&self.session, "lease", &Leadership::NotNeeded, &write, &plan)
            .await?;
        let answer = answer.unwrap_or_default();
        Ok(Record::parse(&answer).map_err(|e| ApiError::NotUnderstood(e.to_string()))?)
    }

    /// Reads the Lease until that succeeds.
    async fn look(&self, observed: &mut Observation) {
        loop {
            match self.read().await {
                Ok(record) => return self.see(observed, record),
                Err(error) => {
                    tracing::warn!(%error, lease = %self.name.key, "cannot read the lease");
                    if self.until.borrow().is_some_and(|until| self.clock.uptime() >= until) {
                        self.lost("it could not be read in time");
                    }
                    tokio::time::sleep(self.pause()).await;
                }
            }
        }
    }

    async fn read(&self) -> Result<Option<Record>, ApiError> {
        let path = LEASES.object_path(&self.name.key.namespace, &self.name.key.name);
        match self.session.get(&path, "application/json", self.timings.request).await {
            Ok(body) => Record::parse(&body)
                .map(Some)
                .map_err(|error| ApiError::NotUnderstood(error.to_string())),
            Err(ApiError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Watches the Lease until it changes or `expiry`. The watch stays open between calls.
    async fn watch_until(
        &self,
        observed: &mut Observation,
        expiry: Duration,
        news: &mut Option<Lines>,
    ) {
        let left = expiry.saturating_sub(self.clock.uptime());
        let seen = match tokio::time::timeout(left, self.next_line(observed, news)).await {
            Err(_) => return,
            Ok(line) => line.and_then(|line| Record::told(&line)),
        };
        match seen {
            Ok(record) => self.see(observed, record),
            Err(error) => {
                tracing::debug!(%error, lease = %self.name.key, "watch of the lease failed");
                *news = None;
                let left = expiry.saturating_sub(self.clock.uptime());
                tokio::time::sleep(self.pause().min(left)).await;
                if let Ok(record) = self.read().await {
                    self.see(observed, record);
                }
            }
        }
    }

    async fn next_line(
        &self,
        observed: &Observation,
        news: &mut Option<Lines>,
    ) -> Result<Bytes, ApiError> {
        let lines = match news {
            Some(lines) => lines,
            None => news.insert(self.open_watch(observed).await?),
        };
        let line = lines.next().await?;
        line.ok_or_else(|| ApiError::Disconnected("the watch was closed".to_owned()))
    }

    async fn open_watch(&self, observed: &Observation) -> Result<Lines, ApiError> {
        let mut path = LEASES.collection_path(Some(&self.name.key.namespace));
        path.push_str("?watch=true&fieldSelector=metadata.name%3D");
        push_encoded(&mut path, &self.name.key.name);
        if let Some(record) = &observed.record {
            path.push_str("&resourceVersion=");
            push_encoded(&mut path, &record.version);
        }
        self.session.lines(&path, "application/json").await
    }

    /// A random pause, so that followers do not run in step.
    fn pause(&self) -> Duration {
        self.timings.lease_retry().mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

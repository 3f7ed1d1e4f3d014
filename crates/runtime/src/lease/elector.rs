//! Acquires, renews and releases a lease.
//!
//! A follower watches the Lease and sleeps until the expiry that it computed. The holder renews every 2/15 of the
//! duration and may write until 2/3 of it after it sent its last renewal; the last third is for writes in flight. Any
//! failure leads to a warm follower that tries again, never to an exit.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use machinist_api::resource::{LEASES, push_encoded};
use machinist_domain::key::ObjectKey;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::leadership::{Leadership, Unanswered};
use super::record::{self, Record};
use super::rules::{Claim, Observation, Step, decide};
use crate::cluster::{ApiError, Lines, Session};
use crate::controller::start::Shared;
use crate::readiness::LeaseView;
use crate::timings::Timings;
use crate::user_agent::UserAgent;
use crate::writer::{Sender, Verb, Write, WriteError};

#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) controller: &'static str,
    pub(crate) key: ObjectKey,
    pub(crate) identity: String,
    /// Whether to take the lease from its holder, once, at the start.
    pub(crate) take_over: bool,
}

#[derive(Debug)]
pub(crate) struct Elector {
    candidate: Candidate,
    shared: Arc<Shared>,
    session: Session,
    timings: Timings,
    observed: Observation,
    until: watch::Sender<Option<Duration>>,
    /// Whether an acquisition is in flight, so that the holder is unknown.
    taking: watch::Sender<bool>,
    /// Before this, nothing is written: the former holder may not have noticed a takeover.
    quiet_until: Duration,
    /// Why the Lease could not be read the last time.
    unread: Option<ApiError>,
    /// The missing right because of which the Lease could not be written the last time.
    refused: Option<ApiError>,
    unanswered: Unanswered,
}

impl Elector {
    pub(crate) fn new(candidate: Candidate, shared: Arc<Shared>, duration: Duration) -> Self {
        shared.metrics.leader(candidate.controller, false);
        shared.readiness.lease(candidate.controller, &candidate.key, LeaseView::Unread);
        Self {
            candidate,
            session: shared.control.session(UserAgent::LEASE),
            timings: Timings { lease: duration, ..shared.timings },
            observed: Observation::nothing(shared.clock.uptime(), duration),
            until: watch::Sender::new(None),
            taking: watch::Sender::new(false),
            quiet_until: Duration::ZERO,
            unread: None,
            refused: None,
            unanswered: Arc::default(),
            shared,
        }
    }

    pub(crate) fn leadership(&self) -> Leadership {
        Leadership::Lease {
            until: self.until.subscribe(),
            clock: Arc::clone(&self.shared.clock),
            unanswered: Arc::clone(&self.unanswered),
        }
    }

    /// Runs until `stop`, then releases the lease. Stop it only after the last write was answered.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let (clock, mut taking) = (Arc::clone(&self.shared.clock), self.taking.subscribe());
        // An unreachable API server must not delay the exit; the lease then expires.
        let patience = self.timings.stop_grace / 2;
        let deadline = {
            let mut elect = pin!(self.elect(&stop));
            stop.run_until_cancelled(elect.as_mut()).await;
            let deadline = clock.uptime() + patience;
            // An acquisition in flight may still be executed and leave a Lease that is renewed by no process: wait for
            // its answer, but not longer than `patience`.
            tokio::select! {
                biased;
                _ = taking.wait_for(|taking| !taking) => {}
                () = elect => {}
                () = tokio::time::sleep(patience) => {}
            }
            deadline
        };
        self.release(deadline).await;
    }

    async fn elect(&mut self, stop: &CancellationToken) {
        let mut take_over = self.candidate.take_over;
        loop {
            let until = self.follow(take_over).await;
            if stop.is_cancelled() {
                return;
            }
            take_over = false;
            self.lead(until).await;
        }
    }

    /// Returns when the lease is acquired, with the deadline for writes without a renewal.
    async fn follow(&mut self, take_over: bool) -> Duration {
        let mut news = None;
        self.look().await;
        loop {
            let step = self.next_step(take_over);
            let (me, duration, now) =
                (&self.candidate.identity, self.timings.lease, self.shared.clock.now());
            let lease = match &step {
                Step::Wait(expiry) => {
                    self.watch_until(*expiry, &mut news).await;
                    continue;
                }
                Step::Create => record::first(&self.candidate.key, me, duration, now),
                Step::Take(record) | Step::TakeOver(record) => record.held_by(me, duration, now),
            };
            let sent = self.shared.clock.uptime();
            if let Step::TakeOver(record) = &step {
                // Before it is sent, and never shortened: the takeover may succeed although its answer is lost.
                self.quiet_until = self.quiet_until.max(sent + record.lasts(duration));
                let (lease, from) = (&self.candidate.key, &record.holder);
                tracing::warn!(%lease, from, "taking over the lease; its holder gets the time to notice");
            }
            if self.take(&lease, step == Step::Create).await {
                return sent + self.timings.renew_deadline();
            }
            // Usually another process was faster, and there is a lease to watch. Otherwise the next attempt waits.
            if !matches!(self.next_step(take_over), Step::Wait(_)) {
                tokio::time::sleep(self.pause()).await;
                self.look().await;
            }
        }
    }

    fn next_step(&self, take_over: bool) -> Step {
        let claim = Claim { me: &self.candidate.identity, take_over };
        decide(&self.observed, claim, self.shared.clock.uptime())
    }

    /// Tries to acquire the lease. After a failure it is read, because the answer may have been lost.
    async fn take(&mut self, lease: &Value, create: bool) -> bool {
        self.taking.send_replace(true);
        let taken = self.write(lease, create).await;
        if let Err(error) = &taken {
            tracing::debug!(%error, lease = %self.candidate.key, "lease not acquired");
            self.note_refusal(error);
            self.look().await;
        }
        self.taking.send_replace(false);
        taken.is_ok()
    }

    async fn lead(&mut self, mut until: Duration) {
        let mut repeat = false;
        loop {
            let silence = self.quiet_until.saturating_sub(self.shared.clock.uptime());
            let repeated = std::mem::take(&mut repeat);
            let mut pause = if repeated { Duration::ZERO } else { self.timings.lease_retry() };
            if silence.is_zero() {
                self.may_write(until);
            } else {
                pause = pause.min(silence);
            }
            tokio::time::sleep(pause).await;
            let sent = self.shared.clock.uptime();
            if sent >= until {
                return self.lost("it could not be renewed in time");
            }
            let Some(record) = &self.observed.record else {
                return self.lost("it was deleted");
            };
            let now = self.shared.clock.now();
            let lease = record.held_by(&self.candidate.identity, self.timings.lease, now);
            // Half of what is left, so that one attempt without an answer leaves time for another.
            let patience = until.saturating_sub(sent) / 2;
            match tokio::time::timeout(patience, self.write(&lease, false)).await {
                Ok(Ok(())) => {
                    until = sent + self.timings.renew_deadline();
                }
                Err(_) => {
                    tracing::warn!(lease = %self.candidate.key, "no answer to the renewal; retrying");
                }
                Ok(Err(WriteError::Api(ApiError::Refused { code: 404 | 409, .. }))) => {
                    // Another holder, a deleted Lease, or a lost answer: read the Lease.
                    self.look().await;
                    if self.observed.holder() != self.candidate.identity {
                        let gone = self.observed.record.is_none();
                        let why = if gone { "it was deleted" } else { "another process holds it" };
                        return self.lost(why);
                    }
                    // The read may have exceeded the deadline; then only a renewal restores the right to write.
                    if self.shared.clock.uptime() >= until {
                        return self.lost("it could not be renewed in time");
                    }
                    // A lost answer has cost much of the time that was left: renew at once, but only once.
                    repeat = !repeated;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = %self.candidate.key, "lease not renewed; retrying");
                    self.note_refusal(&error);
                }
            }
        }
    }

    fn may_write(&self, until: Duration) {
        if self.until.send_replace(Some(until)).is_none() {
            let Candidate { controller, key, .. } = &self.candidate;
            tracing::info!(controller, lease = %key, "leading");
            self.shared.metrics.leader(controller, true);
        }
    }

    /// Revokes the right to write, if it has not expired already, and reports the loss once.
    fn lost(&self, reason: &str) {
        if self.until.send_replace(None).is_some() {
            let Candidate { controller, key, .. } = &self.candidate;
            tracing::warn!(controller, lease = %key, reason, "lost the lease");
            self.shared.metrics.leader(controller, false);
        }
    }

    async fn release(&self, deadline: Duration) {
        self.until.send_replace(None);
        self.shared.metrics.leader(self.candidate.controller, false);
        let ours = |record: &&Record| record.holder == self.candidate.identity;
        let Some(record) = self.observed.record.as_ref().filter(ours) else { return };
        // A write without an answer may still be executed after another process leads.
        let given_up = *self.unanswered.lock();
        let since = |at| self.shared.clock.uptime().saturating_sub(at);
        let lease = &self.candidate.key;
        if given_up.is_some_and(|at| since(at) < self.timings.lease) {
            tracing::warn!(%lease, "lease not released, it has to expire: a write is in flight");
            return;
        }
        if self.shared.clock.uptime() < self.quiet_until {
            tracing::warn!(%lease, "lease not released, it has to expire: the former holder may still write");
            return;
        }
        let patience = deadline.saturating_sub(self.shared.clock.uptime());
        match tokio::time::timeout(patience, self.give_back(record)).await {
            Ok(Ok(())) => tracing::info!(%lease, "lease released"),
            Ok(Err(error)) => tracing::warn!(%error, %lease, "lease not released"),
            Err(_) => tracing::warn!(%lease, "lease not released in time"),
        }
    }

    async fn give_back(&self, record: &Record) -> Result<(), WriteError> {
        let plan = "give the lease back";
        match self.send(&record.released(self.shared.clock.now()), false, plan).await {
            // An unanswered renewal may have been executed first: read the Lease.
            Err(WriteError::Api(ApiError::Refused { code: 409, .. })) => {}
            other => return other.map(drop),
        }
        match self.read().await? {
            Some(record) if record.holder == self.candidate.identity => {
                self.send(&record.released(self.shared.clock.now()), false, plan).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    async fn write(&mut self, lease: &Value, create: bool) -> Result<(), WriteError> {
        let record = self.send(lease, create, "hold the lease").await?;
        self.refused = None;
        self.see(Some(record));
        Ok(())
    }

    fn see(&mut self, record: Option<Record>) {
        let before = self.observed.holder().to_owned();
        self.observed.see(record, self.shared.clock.uptime());
        self.unread = None;
        self.show();
        let holder = self.observed.holder();
        if holder == before {
            return;
        }
        let ours = holder == self.candidate.identity;
        let Candidate { controller, key, .. } = &self.candidate;
        if !ours && !holder.is_empty() {
            tracing::info!(controller, lease = %key, holder, "following");
        }
        self.shared.metrics.lease_changed_hands(key, &before, holder);
    }

    /// Shows that a right is missing. Without it the Lease stays without a holder, and no process writes.
    fn note_refusal(&mut self, error: &WriteError) {
        let WriteError::Api(error) = error else { return };
        if error.is_forbidden() {
            if self.refused.is_none() {
                tracing::warn!(%error, lease = %self.candidate.key, "not allowed to write the lease");
            }
            self.refused = Some(error.clone());
            self.show();
        }
    }

    fn show(&self) {
        let view = match (&self.unread, &self.refused, self.observed.holder()) {
            (Some(error), ..) => LeaseView::Unreadable(error),
            (None, Some(error), "") => LeaseView::NotTaken(error),
            (None, None, "") => LeaseView::NoHolder,
            (None, Some(error), me) if me == self.candidate.identity => LeaseView::NotTaken(error),
            (None, None, me) if me == self.candidate.identity => LeaseView::Ours(me),
            (None, _, other) => LeaseView::HeldBy(other),
        };
        self.shared.readiness.lease(self.candidate.controller, &self.candidate.key, view);
    }

    async fn send(&self, lease: &Value, create: bool, plan: &str) -> Result<Record, WriteError> {
        let verb = if create { Verb::Create } else { Verb::Replace };
        let write = Write::whole(verb, LEASES, &self.candidate.key, lease);
        // Writing the Lease cannot require the lease.
        let leadership = Leadership::NotNeeded;
        let sender = Sender { party: "lease", leadership: &leadership, freeze: None };
        let answer = self.shared.gateway.send(&self.session, sender, &write, &plan).await?;
        Ok(Record::parse(&answer.unwrap_or_default())?)
    }

    async fn look(&mut self) {
        loop {
            match self.read().await {
                Ok(record) => return self.see(record),
                Err(error) => {
                    tracing::warn!(%error, lease = %self.candidate.key, "cannot read the lease");
                    self.unread = Some(error);
                    self.show();
                    if self.until.borrow().is_some_and(|until| self.shared.clock.uptime() >= until)
                    {
                        self.lost("it could not be read in time");
                    }
                    tokio::time::sleep(self.pause()).await;
                }
            }
        }
    }

    async fn read(&self) -> Result<Option<Record>, ApiError> {
        let path = LEASES.object_path(&self.candidate.key.namespace, &self.candidate.key.name);
        match self.session.get(&path, "application/json", self.timings.request).await {
            Ok(body) => Record::parse(&body).map(Some),
            Err(ApiError::Refused { code: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Watches the Lease until it changes or `expiry`. The watch stays open between calls.
    async fn watch_until(&mut self, expiry: Duration, news: &mut Option<Lines>) {
        let left = expiry.saturating_sub(self.shared.clock.uptime());
        let seen = match tokio::time::timeout(left, self.next_line(news)).await {
            Err(_) => {
                // A living holder would have renewed it; or the connection is dead.
                *news = None;
                return;
            }
            Ok(line) => line.and_then(|line| Record::from_watch(&line)),
        };
        match seen {
            Ok(record) => self.see(record),
            Err(error) => {
                tracing::debug!(%error, lease = %self.candidate.key, "watch of the lease failed");
                *news = None;
                let left = expiry.saturating_sub(self.shared.clock.uptime());
                tokio::time::sleep(self.pause().min(left)).await;
                match self.read().await {
                    Ok(record) => self.see(record),
                    Err(error) => {
                        self.unread = Some(error);
                        self.show();
                    }
                }
            }
        }
    }

    async fn next_line(&self, news: &mut Option<Lines>) -> Result<Bytes, ApiError> {
        let lines = match news {
            Some(lines) => lines,
            None => news.insert(self.open_watch().await?),
        };
        lines.next().await?.ok_or_else(|| ApiError::Disconnected("the watch was closed".to_owned()))
    }

    async fn open_watch(&self) -> Result<Lines, ApiError> {
        let mut path = LEASES.collection_path(Some(&self.candidate.key.namespace));
        path.push_str("?watch=true&fieldSelector=metadata.name%3D");
        push_encoded(&mut path, &self.candidate.key.name);
        if let Some(record) = &self.observed.record {
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

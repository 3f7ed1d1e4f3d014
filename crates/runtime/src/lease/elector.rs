//! Takes a lease, renews it, and gives it back.
//!
//! A follower watches the Lease and sleeps until the expiry that it computed. The holder renews every 2/15 of the duration and may write until 2/3
//! of the duration after its last renewal went out; the last third is for writes that are still under way. Whatever goes wrong, the
//! outcome is a warm follower that tries again, never an exit.

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
use super::record::{Record, Spoken};
use super::rules::{Claim, Sight, Step, decide};
use crate::clock::SharedClock;
use crate::cluster::session::Lines;
use crate::cluster::{ApiError, Session};
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::timings::Timings;
use crate::writer::{Gateway, Verb, Write, WriteError};

/// A lease that was just taken.
struct Gained {
    /// Until when it allows to write, unless it is renewed.
    until: Duration,
    /// Until when nothing is written all the same, because it was taken from somebody who may not know yet.
    quiet_until: Duration,
}

/// Takes, renews and gives back one lease.
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
    /// Whether the Lease is just being taken, so that nobody here knows whose it is.
    taking: watch::Sender<bool>,
    /// Until when somebody from whom the lease was taken may not know it yet.
    quiet_until: Mutex<Duration>,
    unanswered: Unanswered,
}

impl Elector {
    /// An elector, which does nothing until it is run.
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

    /// What writers look at.
    pub fn leadership(&self) -> Leadership {
        Leadership::Lease {
            until: self.until.subscribe(),
            clock: Arc::clone(&self.clock),
            unanswered: Arc::clone(&self.unanswered),
        }
    }

    /// Runs until `stop`, and gives the lease back if it is ours then. Stop it only after the last write has been answered.
    pub async fn run(self, stop: CancellationToken) {
        let mut sight = Sight { record: None, changed: self.clock.uptime() };
        let deadline = {
            let mut elect = pin!(self.elect(&mut sight, &stop));
            stop.run_until_cancelled(elect.as_mut()).await;
            // A cluster that does not answer must not hold up the exit: then the lease runs out by itself.
            let patience = self.timings.stop_grace / 2;
            let deadline = self.clock.uptime() + patience;
            let mut taking = self.taking.subscribe();
            tokio::select! {
                biased;
                _ = taking.wait_for(|taking| !taking) => {}
                // A request that is dropped may still be carried out, and then the lease would be held by nobody: only the answer tells.
                () = elect => {}
                () = tokio::time::sleep(patience) => {}
            }
            deadline
        };
        self.release(&sight, deadline).await;
    }

    /// Follows and leads, in turns, until `stop`.
    async fn elect(&self, sight: &mut Sight, stop: &CancellationToken) {
        let mut force = self.name.take_over;
        loop {
            let gained = self.follow(sight, force).await;
            if stop.is_cancelled() {
                return;
            }
            force = false;
            self.lead(sight, gained).await;
        }
    }

    /// Returns when the lease is ours.
    async fn follow(&self, sight: &mut Sight, force: bool) -> Gained {
        let mut news = None;
        let claim = Claim { me: &self.name.identity, duration: self.timings.lease, force };
        self.look(sight).await;
        loop {
            let step = decide(sight, claim, self.clock.uptime());
            let spoken = match &step {
                Step::Wait(expiry) => {
                    self.watch_until(sight, *expiry, &mut news).await;
                    continue;
                }
                Step::Create => {
                    Spoken::first(&self.name.identity, self.timings.lease, self.clock.now())
                }
                Step::Take(record) | Step::TakeOver(record) => {
                    record.held_by(&self.name.identity, self.timings.lease, self.clock.now())
                }
            };
            let sent = self.clock.uptime();
            if self.take(sight, &spoken, step == Step::Create).await {
                return self.gained(&step, sent);
            }
            // Mostly somebody else was faster: then there is something to watch, at once. Where there is not, trying again has time.
            let next = decide(sight, claim, self.clock.uptime());
            if !matches!(next, Step::Wait(_)) {
                tokio::time::sleep(self.pause()).await;
                self.look(sight).await;
            }
        }
    }

    /// Whether the lease was to be had. Where it was not, it is read: the answer to a write that was carried out may have been lost.
    async fn take(&self, sight: &mut Sight, spoken: &Spoken, create: bool) -> bool {
        self.taking.send_replace(true);
        let taken = self.write(sight, spoken, create).await;
        if let Err(error) = &taken {
            tracing::debug!(%error, lease = %self.name.key, "the lease was not to be had");
            self.look(sight).await;
        }
        self.taking.send_replace(false);
        taken.is_ok()
    }

    /// Renews; returns when the lease is lost.
    async fn lead(&self, sight: &mut Sight, gained: Gained) {
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
            let Some(record) = sight.record.clone() else {
                return self.lost("it is gone");
            };
            let spoken = record.held_by(&self.name.identity, self.timings.lease, self.clock.now());
            let left = until.saturating_sub(sent);
            match tokio::time::timeout(left, self.write(sight, &spoken, false)).await {
                Ok(Ok(())) => {
                    until = sent + self.timings.renew_deadline();
                }
                Err(_) => return self.lost("it could not be renewed in time"),
                Ok(Err(WriteError::Api(ApiError::Refused { code: 404 | 409, .. }))) => {
                    // Somebody else's, or ours with an answer that was lost: the Lease tells.
                    self.look(sight).await;
                    if sight.holder() != self.name.identity {
                        return self.lost("somebody else has it");
                    }
                    // Reading may have taken longer than there was time: what ran out meanwhile is ours only once it is renewed.
                    if self.clock.uptime() >= until {
                        return self.lost("it could not be renewed in time");
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, lease = %self.name.key, "the lease was not renewed, trying again");
                }
            }
        }
    }

    fn gained(&self, step: &Step, sent: Duration) -> Gained {
        let mut quiet_until = sent;
        if let Step::TakeOver(record) = step {
            quiet_until += record.lasts(self.timings.lease);
            tracing::warn!(lease = %self.name.key, from = record.holder, "lease taken over, waiting until its holder must have noticed");
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

    /// Says once that the lease is lost; the right to write it gave ended by itself before.
    fn lost(&self, reason: &str) {
        if self.until.send_replace(None).is_some() {
            tracing::warn!(controller = self.name.controller, lease = %self.name.key, reason, "not leading any more");
            self.metrics.leader(self.name.controller, false);
        }
    }

    async fn release(&self, sight: &Sight, deadline: Duration) {
        self.until.send_replace(None);
        self.metrics.leader(self.name.controller, false);
        let ours = |record: &&Record| record.holder == self.name.identity;
        let Some(record) = sight.record.as_ref().filter(ours) else { return };
        if self.has_write_under_way() {
            tracing::warn!(lease = %self.name.key, "lease not given back: a write may still land, so it has to run out");
            return;
        }
        if self.clock.uptime() < *self.quiet_until.lock() {
            tracing::warn!(lease = %self.name.key, "lease not given back: whoever had it may still write, so it has to run out");
            return;
        }
        let patience = deadline.saturating_sub(self.clock.uptime());
        match tokio::time::timeout(patience, self.give_back(record)).await {
            Ok(Ok(())) => tracing::info!(lease = %self.name.key, "lease given back"),
            Ok(Err(error)) => {
                tracing::warn!(%error, lease = %self.name.key, "lease not given back");
            }
            Err(_) => tracing::warn!(lease = %self.name.key, "lease not given back in time"),
        }
    }

    /// Whether a write was given up without an answer so recently that somebody else might lead before it lands.
    fn has_write_under_way(&self) -> bool {
        let given_up = *self.unanswered.lock();
        given_up.is_some_and(|at| self.clock.uptime().saturating_sub(at) < self.timings.lease)
    }

    async fn give_back(&self, record: &Record) -> Result<(), WriteError> {
        let plan = "give the lease back";
        match self.send(&record.released(self.clock.now()), false, plan).await {
            // A renewal of ours, whose answer we did not wait for, may have come first: the Lease tells.
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
        sight: &mut Sight,
        spoken: &Spoken,
        create: bool,
    ) -> Result<(), WriteError> {
        let record = self.send(spoken, create, "hold the lease").await?;
        self.see(sight, Some(record));
        Ok(())
    }

    /// Takes in what the lease says, and tells if that is news.
    fn see(&self, sight: &mut Sight, record: Option<Record>) {
        let before = sight.holder().to_owned();
        sight.see(record, self.clock.uptime());
        let holder = sight.holder();
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

    async fn send(&self, spoken: &Spoken, create: bool, plan: &str) -> Result<Record, WriteError> {
        let verb = if create { Verb::Create } else { Verb::Replace };
        let body = spoken.to_json(&self.name.key);
        let write = Write::whole(verb, LEASES, &self.name.key, &body);
        // The lease is what gives the right to write, so writing it cannot need that right.
        let answer = self
            .gateway
            .send(&self.session, "lease", &Leadership::NotNeeded, &write, &plan)
            .await?;
        let answer = answer.unwrap_or_default();
        Ok(Record::parse(&answer).map_err(|e| ApiError::NotUnderstood(e.to_string()))?)
    }

    /// Reads the Lease, as often as it takes.
    async fn look(&self, sight: &mut Sight) {
        loop {
            match self.read().await {
                Ok(record) => return self.see(sight, record),
                Err(error) => {
                    tracing::warn!(%error, lease = %self.name.key, "the lease cannot be read");
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

    /// Watches the Lease until it changes or `expiry` comes. The watch stays open from one call to the next.
    async fn watch_until(&self, sight: &mut Sight, expiry: Duration, news: &mut Option<Lines>) {
        let left = expiry.saturating_sub(self.clock.uptime());
        let seen = match tokio::time::timeout(left, self.next_line(sight, news)).await {
            Err(_) => return,
            Ok(line) => line.and_then(|line| Record::told(&line)),
        };
        match seen {
            Ok(record) => self.see(sight, record),
            Err(error) => {
                tracing::debug!(%error, lease = %self.name.key, "watching the lease failed");
                *news = None;
                let left = expiry.saturating_sub(self.clock.uptime());
                tokio::time::sleep(self.pause().min(left)).await;
                if let Ok(record) = self.read().await {
                    self.see(sight, record);
                }
            }
        }
    }

    async fn next_line(&self, sight: &Sight, news: &mut Option<Lines>) -> Result<Bytes, ApiError> {
        let lines = match news {
            Some(lines) => lines,
            None => news.insert(self.open_watch(sight).await?),
        };
        let line = lines.next().await?;
        line.ok_or_else(|| ApiError::Disconnected("the watch was closed".to_owned()))
    }

    async fn open_watch(&self, sight: &Sight) -> Result<Lines, ApiError> {
        let mut path = LEASES.collection_path(Some(&self.name.key.namespace));
        path.push_str("?watch=true&fieldSelector=metadata.name%3D");
        push_encoded(&mut path, &self.name.key.name);
        if let Some(record) = &sight.record {
            path.push_str("&resourceVersion=");
            push_encoded(&mut path, &record.version);
        }
        self.session.lines(&path, "application/json").await
    }

    /// Between attempts; different for each process, so that followers do not run in step.
    fn pause(&self) -> Duration {
        self.timings.lease_retry().mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

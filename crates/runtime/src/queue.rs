//! The work queue of a controller: each key at most once, never with two workers. No key is dropped.
//!
//! A request that a changed object causes while a worker has the key is kept apart until the worker is done. If the
//! reconcile failed, the requests that its own writes caused ([`crate::self_writes`]) are dropped, so that the backoff
//! is respected.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Retry;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::kind::Stored;
use crate::cache::store::Change;
use crate::self_writes::{Revision, SelfWrites};

/// Capacity that is kept while the queue is empty.
const ROOM: usize = 64;

/// Keys that a follower remembers. A new leader enqueues every object, so more would only be keys of deleted ones.
const MOST_OF_A_FOLLOWER: usize = 4096;

/// The longest delay. An early reconcile is harmless; an instant out of range is not.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// Keys to reconcile.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    backoff: Backoff,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<ObjectKey>,
    /// In `ready`, or to be added when the worker that has the key is done.
    wanted: HashSet<ObjectKey>,
    working: HashMap<ObjectKey, Working>,
    /// Since when no worker has taken a key although one was ready; `None` if none is ready.
    untaken: Option<Instant>,
    has_workers: bool,
    follows: bool,
    later: BTreeSet<(Instant, ObjectKey)>,
    due: HashMap<ObjectKey, Instant>,
    failures: HashMap<ObjectKey, u32>,
}

/// A key that a worker has.
#[derive(Debug)]
struct Working {
    since: Instant,
    /// The requests that changed objects caused meanwhile.
    requests: Vec<Request>,
}

#[derive(Debug)]
struct Request {
    cause: Revision,
    /// `None` means now.
    at: Option<Instant>,
}

/// A queue that makes no progress: the key, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stalled {
    /// One worker has the key.
    Busy(ObjectKey, Duration),
    /// The key is the first that is ready, and no worker has taken one.
    Untaken(ObjectKey, Duration),
}

impl Queue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), backoff }
    }

    /// Enqueues `key` now.
    pub fn add(&self, key: &ObjectKey) {
        self.request(key, None, None);
    }

    /// Enqueues `key` after `delay`, at most an hour. An earlier due time is kept.
    pub fn add_after(&self, key: &ObjectKey, delay: Duration) {
        self.request(key, Some(due_after(delay)), None);
    }

    /// Enqueues `key` because of `change`, for kinds that the controller writes: the queue recognises its own writes.
    pub fn add_changed<T: Stored>(&self, key: &ObjectKey, change: &Change<'_, T>) {
        self.request(key, None, change.revision());
    }

    /// As [`Queue::add_changed`], after `delay`.
    pub fn add_changed_after<T: Stored>(
        &self,
        key: &ObjectKey,
        change: &Change<'_, T>,
        delay: Duration,
    ) {
        self.request(key, Some(due_after(delay)), change.revision());
    }

    fn request(&self, key: &ObjectKey, at: Option<Instant>, cause: Option<Revision>) {
        let mut state = self.state.lock();
        if state.follows && state.ready.len() + state.later.len() >= MOST_OF_A_FOLLOWER {
            return;
        }
        match (state.working.get_mut(key), cause) {
            // Which revisions the reconcile wrote is known when it ends. Beyond `ROOM` some request has another cause.
            (Some(working), Some(cause)) if working.requests.len() < ROOM => {
                working.requests.push(Request { cause, at });
            }
            _ => state.want_when(key, at),
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Drops the requests for `key` that the failed reconcile caused by its own writes.
    pub(crate) fn drop_self_caused(&self, key: &ObjectKey, writes: &SelfWrites) {
        if let Some(working) = self.state.lock().working.get_mut(key) {
            working.requests.retain(|request| !writes.contains(&request.cause));
        }
    }

    /// Requeues `key` after its backoff, but not before `at_least`. Returns the delay.
    pub(crate) fn add_after_failure(&self, key: &ObjectKey, at_least: Duration) -> Duration {
        self.back_off(key, self.backoff, at_least)
    }

    fn back_off(&self, key: &ObjectKey, backoff: Backoff, at_least: Duration) -> Duration {
        let failures = {
            let mut state = self.state.lock();
            let failures = state.failures.entry(key.clone()).or_insert(0);
            *failures = failures.saturating_add(1);
            *failures
        };
        let delay = backoff.delay(failures, fastrand::f64()).max(at_least).min(LONGEST_DELAY);
        self.add_after(key, delay);
        delay
    }

    pub(crate) fn retry(&self, key: &ObjectKey, retry: Option<Retry>) {
        match retry {
            None | Some(Retry::OnChange) => self.forget_failures(key),
            Some(Retry::Again(delay)) => {
                self.forget_failures(key);
                // A deadline that has just passed must not cause a loop.
                self.add_after(key, delay.max(self.backoff.base / 100));
            }
            // At least the backoff, in case the server always answers with a tiny delay.
            Some(Retry::After(delay)) => drop(self.add_after_failure(key, delay)),
            Some(Retry::Backoff) => drop(self.add_after_failure(key, Duration::ZERO)),
            Some(Retry::Soon) => {
                let soon = Backoff { base: self.backoff.base / 10, ..self.backoff };
                self.back_off(key, soon, Duration::ZERO);
            }
        }
    }

    fn forget_failures(&self, key: &ObjectKey) {
        self.state.lock().failures.remove(key);
    }

    /// The next key. The caller holds it until [`Queue::done`].
    pub(crate) async fn take(&self) -> ObjectKey {
        loop {
            let wake_up = {
                let mut state = self.state.lock();
                let now = Instant::now();
                state.ripen(now);
                if let Some(key) = state.ready.pop_front() {
                    state.untaken = (!state.ready.is_empty()).then_some(now);
                    state.wanted.remove(&key);
                    let working = Working { since: now, requests: Vec::new() };
                    state.working.insert(key.clone(), working);
                    if state.ready.is_empty() {
                        state.shrink();
                    } else {
                        self.changed.notify_one();
                    }
                    return key;
                }
                state.later.first().map(|(at, _)| *at)
            };
            match wake_up {
                None => self.changed.notified().await,
                Some(at) => drop(tokio::time::timeout_at(at, self.changed.notified()).await),
            }
        }
    }

    pub(crate) fn done(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        let worked = state.working.remove(key);
        if state.wanted.contains(key) {
            state.push(key);
        }
        for request in worked.into_iter().flat_map(|worked| worked.requests) {
            state.want_when(key, request.at);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Whether another process reconciles. Until this is over, the number of keys is limited.
    pub(crate) fn follow(&self, follows: bool) {
        self.state.lock().follows = follows;
    }

    /// Whether workers take keys: those of a follower do not.
    pub(crate) fn workers_run(&self, run: bool) {
        let mut state = self.state.lock();
        state.has_workers = run;
        state.untaken = (!state.ready.is_empty()).then(Instant::now);
    }

    /// Whether a worker has had a key, or keys have been ready and untaken, for longer than `limit`. Time in suspend
    /// does not count: workers stand still in it, too.
    pub(crate) fn stalled(&self, limit: Duration) -> Option<Stalled> {
        let (now, mut state) = (Instant::now(), self.state.lock());
        state.ripen(now);
        let late = |since: Instant| Some(now - since).filter(|time| *time > limit);
        let oldest = state.working.iter().min_by_key(|(_, working)| working.since);
        if let Some((key, working)) = oldest
            && let Some(time) = late(working.since)
        {
            return Some(Stalled::Busy(key.clone(), time));
        }
        let time = state.untaken.filter(|_| state.has_workers).and_then(late)?;
        Some(Stalled::Untaken(state.ready.front()?.clone(), time))
    }

    /// How many keys are queued, delayed ones included.
    pub(crate) fn depth(&self) -> usize {
        let state = self.state.lock();
        state.ready.len() + state.later.len()
    }
}

fn due_after(delay: Duration) -> Instant {
    Instant::now() + delay.min(LONGEST_DELAY)
}

impl State {
    fn want_when(&mut self, key: &ObjectKey, at: Option<Instant>) {
        match at {
            None => self.want(key),
            Some(at) => self.want_at(key, at),
        }
    }

    fn want(&mut self, key: &ObjectKey) {
        if let Some(at) = self.due.remove(key) {
            self.later.remove(&(at, key.clone()));
        }
        if self.wanted.insert(key.clone()) && !self.working.contains_key(key) {
            self.push(key);
        }
    }

    fn push(&mut self, key: &ObjectKey) {
        self.ready.push_back(key.clone());
        self.untaken.get_or_insert_with(Instant::now);
    }

    fn want_at(&mut self, key: &ObjectKey, at: Instant) {
        if self.wanted.contains(key) {
            return;
        }
        match self.due.get(key) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                self.later.remove(&(*later, key.clone()));
            }
            None => {}
        }
        self.later.insert((at, key.clone()));
        self.due.insert(key.clone(), at);
    }

    /// Frees the memory of a burst: the first list enqueues every key at once.
    fn shrink(&mut self) {
        self.ready.shrink_to(ROOM);
        self.wanted.shrink_to(ROOM);
        self.due.shrink_to(ROOM);
        self.failures.shrink_to(ROOM);
    }

    fn ripen(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.want(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;

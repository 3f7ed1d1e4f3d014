//! The queue of a controller: keys, each at most once, never two workers on the same one.
//!
//! A key that is added while a worker has it is handed out again when the worker is done: no change is missed. Failures are counted per key,
//! and the delay before the next attempt grows with them. Nothing here is ever dropped after too many failures.
//!
//! A wish that comes of a change of an object, while a worker has the key, is kept apart until the worker is done. If its pass failed, those
//! that are the echo ([`crate::echo`]) of its own writes are dismissed, so that the failure is not tried again at once.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Retry;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::echo::{self, Edition, Wrote};

/// Room for so many keys is kept when none waits.
const ROOM: usize = 64;

/// No key stays away for longer, whoever says so: to look too early does no harm, and a time that is out of the clock's range does.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// Keys that wait for a worker.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    backoff: Backoff,
}

#[derive(Debug, Default)]
struct State {
    ready: VecDeque<ObjectKey>,
    /// In `ready`, or to be put there when the worker that has it is done.
    wanted: HashSet<ObjectKey>,
    /// What workers have, and what was wished for meanwhile because an object changed.
    working: HashMap<ObjectKey, Vec<Wish>>,
    /// Due later. The number makes keys that are due at the same instant different.
    later: BTreeMap<(Instant, u64), ObjectKey>,
    due: HashMap<ObjectKey, (Instant, u64)>,
    failures: HashMap<ObjectKey, u32>,
    next_number: u64,
}

/// A key is to be worked on because an object changed.
#[derive(Debug)]
struct Wish {
    because: Edition,
    /// `None` means now.
    at: Option<Instant>,
}

impl Queue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), backoff }
    }

    /// Wants `key` to be worked on, now.
    pub fn add(&self, key: &ObjectKey) {
        self.wish(key, None);
    }

    /// Wants `key` to be worked on after `delay`, or earlier if it was to be due earlier. An hour is the longest delay.
    pub fn add_after(&self, key: &ObjectKey, delay: Duration) {
        self.wish(key, Some(Instant::now() + delay.min(LONGEST_DELAY)));
    }

    fn wish(&self, key: &ObjectKey, at: Option<Instant>) {
        let mut state = self.state.lock();
        match (state.working.get_mut(key), echo::told()) {
            // Whether that is news is known when the pass is over. Where there are so many, some are.
            (Some(wishes), Some(because)) if wishes.len() < ROOM => {
                wishes.push(Wish { because, at });
            }
            _ => state.want_when(key, at),
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The pass over `key` failed, and `wrote` that: it is not tried again because of its own writes.
    pub(crate) fn dismiss_echoes(&self, key: &ObjectKey, wrote: &Wrote) {
        if let Some(wishes) = self.state.lock().working.get_mut(key) {
            wishes.retain(|wish| !wrote.contains(&wish.because));
        }
    }

    /// Wants `key` again after a delay that grows with every failure in a row and is no shorter than `at_least`. Returns the delay.
    pub fn add_after_failure(&self, key: &ObjectKey, at_least: Duration) -> Duration {
        let delay = self.backoff.delay(self.count_failure(key), fastrand::f64()).max(at_least);
        self.add_after(key, delay);
        delay.min(LONGEST_DELAY)
    }

    fn count_failure(&self, key: &ObjectKey) -> u32 {
        let mut state = self.state.lock();
        let failures = state.failures.entry(key.clone()).or_insert(0);
        *failures = failures.saturating_add(1);
        *failures
    }

    /// Wants `key` again as the pass over it said.
    pub fn retry(&self, key: &ObjectKey, retry: Option<Retry>) {
        match retry {
            None | Some(Retry::OnChange) => self.forget_failures(key),
            Some(Retry::Again(delay)) => {
                self.forget_failures(key);
                // A deadline that is just over may come out as nothing: that must not become a loop.
                self.add_after(key, delay.max(self.backoff.base / 100));
            }
            // At least the backoff: a server that says "at once" for ever must not be believed.
            Some(Retry::After(delay)) => drop(self.add_after_failure(key, delay)),
            Some(Retry::Backoff) => drop(self.add_after_failure(key, Duration::ZERO)),
            Some(Retry::Soon) => {
                let soon = Backoff { base: self.backoff.base / 10, ..self.backoff };
                let delay = soon.delay(self.count_failure(key), fastrand::f64());
                self.add_after(key, delay);
            }
        }
    }

    /// The last attempt at `key` went well, or another one would not help.
    pub fn forget_failures(&self, key: &ObjectKey) {
        self.state.lock().failures.remove(key);
    }

    /// The next key; it stays with the caller until [`Queue::done`].
    pub async fn take(&self) -> ObjectKey {
        loop {
            let wake_up = {
                let mut state = self.state.lock();
                state.ripen(Instant::now());
                if let Some(key) = state.ready.pop_front() {
                    state.wanted.remove(&key);
                    state.working.insert(key.clone(), Vec::new());
                    if state.ready.is_empty() {
                        state.shrink();
                    } else {
                        self.changed.notify_one();
                    }
                    return key;
                }
                state.later.keys().next().map(|(at, _)| *at)
            };
            match wake_up {
                None => self.changed.notified().await,
                // An error means that it is time.
                Some(at) => drop(tokio::time::timeout_at(at, self.changed.notified()).await),
            }
        }
    }

    /// The worker that took `key` is done with it.
    pub fn done(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        let wishes = state.working.remove(key).unwrap_or_default();
        if state.wanted.contains(key) {
            state.ready.push_back(key.clone());
        }
        for wish in wishes {
            state.want_when(key, wish.at);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// How many keys wait, those due later included.
    pub fn depth(&self) -> usize {
        let state = self.state.lock();
        state.ready.len() + state.later.len()
    }
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
            self.later.remove(&at);
        }
        if self.wanted.insert(key.clone()) && !self.working.contains_key(key) {
            self.ready.push_back(key.clone());
        }
    }

    fn want_at(&mut self, key: &ObjectKey, at: Instant) {
        if self.wanted.contains(key) {
            return;
        }
        match self.due.get(key) {
            Some((earlier, _)) if *earlier <= at => return,
            Some(later) => {
                self.later.remove(later);
            }
            None => {}
        }
        let place = (at, self.next_number);
        self.next_number += 1;
        self.later.insert(place, key.clone());
        self.due.insert(key.clone(), place);
    }

    /// Gives back what a burst took: the first list brings every key at once, and may never do so again.
    fn shrink(&mut self) {
        self.ready.shrink_to(ROOM);
        self.wanted.shrink_to(ROOM);
        self.due.shrink_to(ROOM);
        self.failures.shrink_to(ROOM);
    }

    fn ripen(&mut self, now: Instant) {
        while let Some((place, _)) = self.later.first_key_value()
            && place.0 <= now
        {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.want(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;

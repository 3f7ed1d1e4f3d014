//! The queue of a controller: keys, each at most once, never two workers on the same one.
//!
//! A key that is added while a worker has it is handed out again when the worker is done: no change is missed. Failures are counted per key,
//! and the delay before the next attempt grows with them. Nothing here is ever dropped after too many failures.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Retry;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoff;

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
    working: HashSet<ObjectKey>,
    /// Due later. The number makes keys that are due at the same instant different.
    later: BTreeMap<(Instant, u64), ObjectKey>,
    due: HashMap<ObjectKey, (Instant, u64)>,
    failures: HashMap<ObjectKey, u32>,
    next_number: u64,
}

impl Queue {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self { state: Mutex::default(), changed: Notify::new(), backoff }
    }

    /// Wants `key` to be worked on, now.
    pub fn add(&self, key: &ObjectKey) {
        self.state.lock().want(key);
        self.changed.notify_one();
    }

    /// Wants `key` to be worked on after `delay`, or earlier if it was to be due earlier. An hour is the longest delay.
    pub fn add_after(&self, key: &ObjectKey, delay: Duration) {
        self.state.lock().want_at(key, Instant::now() + delay.min(LONGEST_DELAY));
        self.changed.notify_one();
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
                    state.working.insert(key.clone());
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
        state.working.remove(key);
        if state.wanted.contains(key) {
            state.ready.push_back(key.clone());
            self.changed.notify_one();
        }
    }

    /// How many keys wait, those due later included.
    pub fn depth(&self) -> usize {
        let state = self.state.lock();
        state.ready.len() + state.later.len()
    }
}

impl State {
    fn want(&mut self, key: &ObjectKey) {
        if let Some(at) = self.due.remove(key) {
            self.later.remove(&at);
        }
        if self.wanted.insert(key.clone()) && !self.working.contains(key) {
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
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60) };

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("ns", name)
    }

    async fn nothing_within(queue: &Queue, time: Duration) -> bool {
        tokio::time::timeout(time, queue.take()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_handed_out_once_however_often_it_was_added() {
        let queue = Queue::new(BACKOFF);
        for _ in 0..5 {
            queue.add(&key("a"));
        }
        assert_eq!(queue.take().await, key("a"));
        assert!(nothing_within(&queue, Duration::from_secs(3600)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_during_the_work_is_not_missed_and_not_worked_on_twice_at_once() {
        let queue = Queue::new(BACKOFF);
        queue.add(&key("a"));
        let taken = queue.take().await;
        queue.add(&key("a"));
        assert!(nothing_within(&queue, Duration::from_secs(1)).await);
        queue.done(&taken);
        assert_eq!(queue.take().await, key("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_delayed_key_comes_when_it_is_due_or_when_it_changes() {
        let queue = Queue::new(BACKOFF);
        queue.add_after(&key("a"), Duration::from_secs(10));
        assert!(nothing_within(&queue, Duration::from_secs(9)).await);
        assert_eq!(queue.take().await, key("a"));
        queue.done(&key("a"));

        queue.add_after(&key("a"), Duration::from_secs(10));
        queue.add(&key("a"));
        assert_eq!(queue.take().await, key("a"));
        queue.done(&key("a"));
        assert!(nothing_within(&queue, Duration::from_secs(60)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_delays_counts() {
        let queue = Queue::new(BACKOFF);
        queue.add_after(&key("a"), Duration::from_secs(100));
        queue.add_after(&key("a"), Duration::from_secs(5));
        queue.add_after(&key("a"), Duration::from_secs(50));
        assert_eq!(queue.depth(), 1);
        assert!(!nothing_within(&queue, Duration::from_secs(6)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_grow_the_delay_per_key_until_they_are_forgotten() {
        let queue = Queue::new(BACKOFF);
        let fail = |name| queue.add_after_failure(&key(name), Duration::ZERO);
        let delays: Vec<_> = (0..8).map(|_| fail("a")).collect();
        assert!(delays[7] > delays[0] * 10, "{delays:?}");
        assert!(fail("b") <= BACKOFF.base);
        queue.forget_failures(&key("a"));
        assert!(fail("a") <= BACKOFF.base);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_names_a_time_is_not_tried_again_before_it() {
        let queue = Queue::new(BACKOFF);
        let after = Duration::from_secs(10);
        assert_eq!(queue.add_after_failure(&key("a"), after), after);
        assert!(nothing_within(&queue, Duration::from_secs(9)).await);
        assert_eq!(queue.take().await, key("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_can_send_a_key_away_for_ever() {
        let queue = Queue::new(BACKOFF);
        for retry in [Retry::After(Duration::MAX), Retry::Again(Duration::MAX)] {
            queue.retry(&key("a"), Some(retry));
            assert!(nothing_within(&queue, LONGEST_DELAY - Duration::from_secs(1)).await);
            assert_eq!(queue.take().await, key("a"));
            queue.done(&key("a"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn coming_back_is_no_failure_and_never_a_loop() {
        let queue = Queue::new(BACKOFF);
        queue.add_after_failure(&key("a"), Duration::ZERO);
        queue.take().await;
        queue.done(&key("a"));
        queue.retry(&key("a"), Some(Retry::Again(Duration::from_millis(300))));
        assert!(nothing_within(&queue, Duration::from_millis(299)).await);
        assert_eq!(queue.take().await, key("a"));
        queue.done(&key("a"));
        assert!(queue.add_after_failure(&key("a"), Duration::ZERO) <= BACKOFF.base, "forgotten");
        queue.take().await;
        queue.done(&key("a"));
        queue.retry(&key("a"), Some(Retry::Again(Duration::ZERO)));
        assert!(nothing_within(&queue, Duration::from_millis(9)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_overtaken_comes_back_sooner_but_not_for_ever() {
        let queue = Queue::new(BACKOFF);
        let mut delays = Vec::new();
        for _ in 0..12 {
            let began = Instant::now();
            queue.retry(&key("a"), Some(Retry::Soon));
            queue.take().await;
            queue.done(&key("a"));
            delays.push(began.elapsed());
        }
        assert!(delays[0] <= BACKOFF.base / 10 + Duration::from_millis(1), "{delays:?}");
        assert!(delays[11] >= BACKOFF.max / 2, "{delays:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_room_of_a_burst_is_given_back_when_it_is_over() {
        let queue = Queue::new(BACKOFF);
        for n in 0..10_000 {
            queue.add(&key(&n.to_string()));
        }
        for _ in 0..10_000 {
            let taken = queue.take().await;
            queue.done(&taken);
        }
        let state = queue.state.lock();
        let room = state.ready.capacity() + state.wanted.capacity();
        assert!(room < 10 * ROOM, "{room}");
    }

    #[tokio::test(start_paused = true)]
    async fn many_workers_share_the_keys_without_losing_a_wake_up() {
        let queue = std::sync::Arc::new(Queue::new(BACKOFF));
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let queue = queue.clone();
            workers.spawn(async move { queue.take().await });
        }
        tokio::task::yield_now().await;
        for n in 0..8 {
            queue.add(&key(&n.to_string()));
        }
        let mut taken = workers.join_all().await;
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), 8);
    }
}

//! A cache that is filled in the background, in batches.
//!
//! Keys that are not cached are collected for a moment and requested together, with at most one request per lane at a
//! time. When the answers are stored, the source is notified, so that it can requeue the objects that need them.

use std::collections::HashMap;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use machinist_domain::expiring::ExpiringMap;
use parking_lot::Mutex;

use crate::clock::SharedClock;
use crate::messages;
use crate::tasks::{self, Tasks};

/// Where the answers of a [`BatchCache`] come from.
pub trait BatchSource: Send + Sync + 'static {
    /// Requests of one lane are batched, and one of them is in flight at a time.
    type Lane: Clone + Eq + Hash + Send + Sync;
    /// What an answer is stored under.
    type Key: Clone + Eq + Hash + Send;
    /// What a request needs to know about a key.
    type Query: Send + Sync;
    /// What is cached.
    type Answer: Clone + Send;

    /// One answer per query, in the same order; queries without one stay unknown, as after a panic. It must end.
    fn fetch<'a>(
        &'a self,
        lane: &'a Self::Lane,
        queries: &'a [Self::Query],
    ) -> BoxFuture<'a, Vec<Self::Answer>>;

    /// How long an answer is fresh.
    fn ttl(&self, answer: &Self::Answer) -> Duration;

    /// Called after the answers of a batch are stored. It must not block.
    fn fetched(&self, queries: &[Self::Query]);
}

/// When and how much to fetch.
#[derive(Debug, Clone, Copy)]
pub struct BatchTimings {
    /// How long queries are collected before the first request.
    pub gather: Duration,
    /// The pause between two requests of a lane.
    pub pause: Duration,
    /// How often expired answers are removed.
    pub sweep: Duration,
    /// The most queries in one request.
    pub size: usize,
}

/// A cache that is filled in the background, in batches.
pub struct BatchCache<S: BatchSource>(Arc<Inner<S>>);

struct Inner<S: BatchSource> {
    source: S,
    tasks: Tasks,
    clock: SharedClock,
    timings: BatchTimings,
    state: Mutex<State<S>>,
}

struct State<S: BatchSource> {
    answers: ExpiringMap<S::Key, S::Answer>,
    /// The number of the latest query of a key. An answer to another one is outdated.
    pending: HashMap<S::Key, u64>,
    /// Queries that wait, per lane. A lane that is present has a task.
    lanes: HashMap<S::Lane, Vec<Queued<S>>>,
    sweeping: bool,
    next_number: u64,
}

struct Queued<S: BatchSource> {
    key: S::Key,
    number: u64,
    query: S::Query,
}

impl<S: BatchSource> Clone for BatchCache<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: BatchSource> std::fmt::Debug for BatchCache<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchCache").finish_non_exhaustive()
    }
}

impl<S: BatchSource> BatchCache<S> {
    /// An empty cache.
    pub fn new(source: S, tasks: Tasks, clock: SharedClock, timings: BatchTimings) -> Self {
        let state = Mutex::new(State {
            answers: ExpiringMap::default(),
            pending: HashMap::new(),
            lanes: HashMap::new(),
            sweeping: false,
            next_number: 0,
        });
        Self(Arc::new(Inner { source, tasks, clock, timings, state }))
    }

    /// The fresh answer for a key; without one, the query is queued.
    pub fn look(
        &self,
        lane: &S::Lane,
        key: &S::Key,
        query: impl FnOnce() -> S::Query,
    ) -> Option<S::Answer> {
        let starts = {
            let mut state = self.0.state.lock();
            if let Some(answer) = state.answers.get(key, self.0.clock.uptime()) {
                return Some(answer.clone());
            }
            state.enqueue(lane, key, query)
        };
        if starts {
            let (inner, lane) = (Arc::clone(&self.0), lane.clone());
            self.0.spawn(async move { inner.drive(&lane).await });
        }
        None
    }

    /// The fresh answer for a key, without a query.
    pub fn get(&self, key: &S::Key) -> Option<S::Answer> {
        self.0.state.lock().answers.get(key, self.0.clock.uptime()).cloned()
    }

    /// The last answer for a key, fresh or not, unless it was swept.
    pub fn get_stale(&self, key: &S::Key) -> Option<S::Answer> {
        self.0.state.lock().answers.get_stale(key).cloned()
    }

    /// Stores an answer of our own call. Answers to earlier queries are dropped as outdated.
    pub fn insert(&self, key: S::Key, answer: S::Answer) {
        let mut state = self.0.state.lock();
        state.pending.remove(&key);
        self.0.store(&mut state, key, answer);
    }

    /// Changes an answer in place. It keeps its age; its time to live is determined again.
    pub fn update(&self, key: &S::Key, change: impl FnOnce(&mut S::Answer)) {
        self.0.state.lock().answers.update(key, |answer| {
            change(answer);
            self.0.source.ttl(answer)
        });
    }

    /// Removes the answer for a key. Answers to queries so far are dropped.
    pub fn forget(&self, key: &S::Key) {
        let mut state = self.0.state.lock();
        state.answers.remove(key);
        state.pending.remove(key);
    }
}

impl<S: BatchSource> State<S> {
    /// Queues a query, unless one is pending. Returns whether the lane needs a task.
    fn enqueue(&mut self, lane: &S::Lane, key: &S::Key, query: impl FnOnce() -> S::Query) -> bool {
        if self.pending.contains_key(key) {
            return false;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.pending.insert(key.clone(), number);
        let queued = Queued { key: key.clone(), number, query: query() };
        let starts = !self.lanes.contains_key(lane);
        self.lanes.entry(lane.clone()).or_default().push(queued);
        starts
    }

    /// The next queries of a lane; `None` if there are none, and then the lane's task ends.
    fn next_batch(&mut self, lane: &S::Lane, size: usize) -> Option<Vec<Queued<S>>> {
        match self.lanes.get_mut(lane) {
            Some(waiting) if !waiting.is_empty() => {
                let rest = waiting.split_off(waiting.len().min(size));
                Some(std::mem::replace(waiting, rest))
            }
            _ => {
                self.lanes.remove(lane);
                None
            }
        }
    }
}

impl<S: BatchSource> Inner<S> {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.tasks.stopping();
        self.tasks.spawn("batch cache", async move {
            stop.run_until_cancelled(task).await;
        });
    }

    async fn drive(self: &Arc<Self>, lane: &S::Lane) {
        tokio::time::sleep(self.timings.gather).await;
        loop {
            let batch = self.state.lock().next_batch(lane, self.timings.size);
            let Some(batch) = batch else { return };
            let is_full = batch.len() >= self.timings.size;
            let answered = self.fetch(lane, batch).await;
            if !(is_full && answered) {
                tokio::time::sleep(self.timings.pause).await;
            }
        }
    }

    /// Returns whether there were answers.
    async fn fetch(self: &Arc<Self>, lane: &S::Lane, batch: Vec<Queued<S>>) -> bool {
        let batch = batch.into_iter().map(|queued| ((queued.key, queued.number), queued.query));
        let (numbers, queries): (Vec<_>, Vec<_>) = batch.unzip();
        // A provider that panics about one object must not stop the controllers of all others.
        let fetch = async { self.source.fetch(lane, &queries).await };
        let fetched = AssertUnwindSafe(fetch).catch_unwind().await;
        if let Err(panic) = &fetched {
            tracing::error!("{}", messages::fetch_panicked(queries.len(), &tasks::text(&**panic)));
        }
        let answered = fetched.is_ok();
        let mut answers = fetched.unwrap_or_default().into_iter();
        {
            let mut state = self.state.lock();
            for (key, number) in numbers {
                let answer = answers.next();
                if state.pending.get(&key) == Some(&number) {
                    state.pending.remove(&key);
                    if let Some(answer) = answer {
                        self.store(&mut state, key, answer);
                    }
                }
            }
        }
        self.source.fetched(&queries);
        answered
    }

    fn store(self: &Arc<Self>, state: &mut State<S>, key: S::Key, answer: S::Answer) {
        let ttl = self.source.ttl(&answer);
        state.answers.insert(key, answer, self.clock.uptime(), ttl);
        if !std::mem::replace(&mut state.sweeping, true) {
            let inner = Arc::clone(self);
            self.spawn(async move { inner.sweep().await });
        }
    }

    /// Removes expired answers for as long as there are any.
    async fn sweep(&self) {
        loop {
            tokio::time::sleep(self.timings.sweep).await;
            let mut state = self.state.lock();
            let has_answers = state.answers.sweep(self.clock.uptime());
            state.pending.shrink_to_fit();
            state.lanes.shrink_to_fit();
            if !has_answers {
                state.sweeping = false;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::clock::ManualClock;

    #[derive(Default)]
    struct Numbers {
        requests: AtomicU32,
        batches: Mutex<Vec<usize>>,
        fetched: AtomicU32,
    }

    impl BatchSource for Arc<Numbers> {
        type Lane = &'static str;
        type Key = String;
        type Query = String;
        type Answer = u32;

        fn fetch<'a>(
            &'a self,
            _: &'a &'static str,
            queries: &'a [String],
        ) -> BoxFuture<'a, Vec<u32>> {
            self.batches.lock().push(queries.len());
            let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                assert!(!queries.iter().any(|query| query == "boom"), "a bug of the provider");
                vec![number; queries.len()]
            })
        }

        fn ttl(&self, _: &u32) -> Duration {
            Duration::from_secs(10)
        }

        fn fetched(&self, queries: &[String]) {
            self.fetched.fetch_add(u32::try_from(queries.len()).unwrap(), Ordering::Relaxed);
        }
    }

    struct Fixture {
        source: Arc<Numbers>,
        clock: Arc<ManualClock>,
        cache: BatchCache<Arc<Numbers>>,
    }

    fn fixture() -> Fixture {
        let (source, clock) = (Arc::<Numbers>::default(), Arc::<ManualClock>::default());
        let timings = BatchTimings {
            gather: Duration::from_millis(100),
            pause: Duration::from_millis(100),
            sweep: Duration::from_secs(10),
            size: 2,
        };
        let cache = BatchCache::new(source.clone(), Tasks::default(), clock.clone(), timings);
        Fixture { source, clock, cache }
    }

    impl Fixture {
        fn look(&self, key: &str) -> Option<u32> {
            self.cache.look(&"lane", &key.to_owned(), || key.to_owned())
        }
    }

    async fn wait() {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn queries_of_a_lane_are_fetched_together_and_expire() {
        let fixture = fixture();
        for key in ["a", "b", "c", "a"] {
            assert_eq!(fixture.look(key), None);
        }
        wait().await;
        assert_eq!(*fixture.source.batches.lock(), [2, 1]);
        assert_eq!(fixture.source.fetched.load(Ordering::Relaxed), 3);
        assert_eq!((fixture.look("a"), fixture.look("c")), (Some(1), Some(2)));
        fixture.clock.advance(Duration::from_secs(10));
        assert_eq!(fixture.look("a"), None);
        assert_eq!(fixture.cache.get_stale(&"a".to_owned()), Some(1));
        wait().await;
        assert_eq!(fixture.look("a"), Some(3));
        fixture.clock.advance(Duration::from_secs(10));
        wait().await;
        wait().await;
        assert_eq!(fixture.cache.get_stale(&"a".to_owned()), None, "it is swept");
    }

    #[tokio::test(start_paused = true)]
    async fn panicking_source_leaves_its_batch_unknown_and_the_cache_alive() {
        let fixture = fixture();
        for key in ["boom", "a", "b"] {
            assert_eq!(fixture.look(key), None);
        }
        wait().await;
        assert_eq!(fixture.source.fetched.load(Ordering::Relaxed), 3, "all are requeued");
        assert_eq!((fixture.look("b"), fixture.look("a")), (Some(2), None));
        wait().await;
        assert_eq!(fixture.look("a"), Some(3), "it is fetched apart from the culprit");
        assert_eq!(fixture.cache.0.tasks.panicked(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_to_earlier_queries_are_dropped() {
        let fixture = fixture();
        fixture.look("a");
        fixture.look("b");
        tokio::time::sleep(Duration::from_millis(500)).await;
        fixture.cache.insert("a".to_owned(), 77);
        fixture.cache.forget(&"b".to_owned());
        wait().await;
        assert_eq!(fixture.look("a"), Some(77));
        assert_eq!(fixture.cache.get(&"b".to_owned()), None);
    }
}

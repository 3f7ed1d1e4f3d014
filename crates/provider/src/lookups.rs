//! A cache with single-flight lookups: of several callers that miss the same key, one runs the lookup and the others
//! share its result. How long a result is kept depends on it, so a failure can be shared without being kept.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::lock::Mutex as AsyncMutex;
use machinist_domain::expiring::ExpiringMap;
use parking_lot::Mutex;

use crate::parts::Clock;

/// How long a key that is not looked up occupies memory.
const IDLE: Duration = Duration::from_mins(10);

/// A cache with single-flight lookups.
pub struct Lookups<K, V> {
    clock: Clock,
    ttl: fn(&V) -> Duration,
    slots: Mutex<ExpiringMap<K, Arc<Slot<V>>>>,
}

struct Slot<V> {
    completed: AtomicU64,
    last: AsyncMutex<Option<(Duration, V)>>,
}

impl<K, V> std::fmt::Debug for Lookups<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookups").finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, V: Clone> Lookups<K, V> {
    /// An empty cache that keeps each result for `ttl(result)`.
    pub fn new(clock: &Clock, ttl: fn(&V) -> Duration) -> Self {
        Self { clock: Arc::clone(clock), ttl, slots: Mutex::default() }
    }

    /// The stored result, or that of `lookup`.
    pub fn get(&self, key: K, lookup: impl Future<Output = V>) -> impl Future<Output = V> {
        // Boxed, because the futures of an SDK call take tens of kilobytes.
        let lookup = Box::pin(lookup);
        async move {
            let now = (self.clock)();
            let slot = {
                let new = || Arc::new(Slot { completed: AtomicU64::new(0), last: None.into() });
                Arc::clone(self.slots.lock().touch(key, now, IDLE, new))
            };
            let before = slot.completed.load(Ordering::Relaxed);
            let mut last = slot.last.lock().await;
            let has_waited = slot.completed.load(Ordering::Relaxed) != before;
            if let Some((at, value)) = last.as_ref()
                && (has_waited || now.saturating_sub(*at) < (self.ttl)(value))
            {
                return value.clone();
            }
            let value = lookup.await;
            slot.completed.fetch_add(1, Ordering::Relaxed);
            *last = Some((now, value.clone()));
            value
        }
    }

    /// Removes the result for a key. A lookup that is in flight is not stored for later callers.
    pub fn forget(&self, key: &K) {
        self.slots.lock().remove(key);
    }

    /// Removes all results.
    pub fn forget_all(&self) {
        self.slots.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    type Answer = Result<usize, &'static str>;

    struct Fixture {
        time: Arc<AtomicU64>,
        lookups: Lookups<&'static str, Answer>,
        count: AtomicUsize,
    }

    impl Fixture {
        fn new() -> Self {
            let time = Arc::new(AtomicU64::new(0));
            let ticking = Arc::clone(&time);
            let clock: Clock =
                Arc::new(move || Duration::from_secs(ticking.load(Ordering::Relaxed)));
            let ttl = |answer: &Answer| match answer {
                Ok(found) if *found > 0 => TTL,
                _ => Duration::ZERO,
            };
            Self { time, lookups: Lookups::new(&clock, ttl), count: AtomicUsize::new(0) }
        }

        async fn get(&self, answer: Answer) -> Answer {
            let lookup = async {
                tokio::task::yield_now().await;
                self.count.fetch_add(1, Ordering::Relaxed);
                answer
            };
            self.lookups.get("a", lookup).await
        }

        fn count(&self) -> usize {
            self.count.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn one_caller_looks_up_for_all_until_the_result_expires() {
        let fixture = Fixture::new();
        assert_eq!(tokio::join!(fixture.get(Ok(1)), fixture.get(Ok(2))), (Ok(1), Ok(1)));
        assert_eq!(fixture.get(Ok(3)).await, Ok(1));
        fixture.time.store(TTL.as_secs(), Ordering::Relaxed);
        assert_eq!(fixture.get(Ok(4)).await, Ok(4));
        assert_eq!(fixture.lookups.get("b", async { Ok(5) }).await, Ok(5));
        fixture.lookups.forget(&"a");
        assert_eq!(fixture.get(Ok(6)).await, Ok(6));
    }

    #[tokio::test]
    async fn callers_that_wait_share_a_failure_that_is_not_kept() {
        for answer in [Err("not now"), Ok(0)] {
            let fixture = Fixture::new();
            let all = tokio::join!(fixture.get(answer), fixture.get(Ok(1)), fixture.get(Ok(2)));
            assert_eq!((all, fixture.count()), ((answer, answer, answer), 1));
            assert_eq!((fixture.get(Ok(3)).await, fixture.count()), (Ok(3), 2));
        }
    }

    #[tokio::test]
    async fn the_next_caller_looks_up_when_a_lookup_is_cancelled() {
        let fixture = Fixture::new();
        let cancelled = async {
            let never = fixture.lookups.get("a", std::future::pending());
            tokio::time::timeout(Duration::ZERO, never).await.unwrap_err();
        };
        assert_eq!(tokio::join!(cancelled, fixture.get(Ok(1))), ((), Ok(1)));
    }
}

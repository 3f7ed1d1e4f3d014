//! A short memory for what many machines ask alike: images, subnets, security groups, zones, names of networks, user data.
//!
//! Of many who ask the same at once, one asks and the others wait: they share what comes of it, a failure too. For those who come later only an
//! answer is kept, and no failure. That nothing was found is no answer where somebody may be about to mend it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use machinist_provider::parts::Clock;
use parking_lot::Mutex;

use crate::errors::AwsError;

/// Long enough for a set that grows by hundreds, short enough that nobody waits for what was changed.
pub(super) const SHORT: Duration = Duration::from_secs(30);

/// For what hardly ever changes and concerns every machine: about as long as it takes to look at all of them once.
pub(super) const LONG: Duration = Duration::from_mins(10);

/// Beyond this many, those that are out of date are forgotten.
const MANY: usize = 256;

/// When each was last used, and what came of asking for it.
type Slots<K, V, E> = HashMap<K, (Duration, Arc<Slot<V, E>>)>;

pub(super) struct Lookups<K, V, E = AwsError> {
    clock: Clock,
    keep: Duration,
    is_nothing: fn(&V) -> bool,
    slots: Mutex<Slots<K, V, E>>,
}

/// What came of asking for one thing.
struct Slot<V, E> {
    /// How often somebody was told.
    told: AtomicU64,
    last: tokio::sync::Mutex<Option<Told<V, E>>>,
}

struct Told<V, E> {
    at: Duration,
    answer: Result<V, E>,
}

impl<K: Eq + Hash, V: Clone, E: Clone> Lookups<K, V, E> {
    pub(super) fn new(clock: &Clock, keep: Duration) -> Self {
        Self { clock: Arc::clone(clock), keep, is_nothing: |_| false, slots: Mutex::default() }
    }

    /// The same, but for answers that are nothing of the kind.
    pub(super) fn unless(self, is_nothing: fn(&V) -> bool) -> Self {
        Self { is_nothing, ..self }
    }

    /// What is known, or what `ask` says.
    pub(super) async fn get(
        &self,
        key: K,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let now = (self.clock)();
        let slot = self.slot(key, now);
        let before = slot.told.load(Ordering::Relaxed);
        let mut last = slot.last.lock().await;
        let waited = slot.told.load(Ordering::Relaxed) != before;
        if let Some(told) = last.as_ref()
            && (waited || self.is_kept(told, now))
        {
            return told.answer.clone();
        }
        let answer = ask.await;
        slot.told.fetch_add(1, Ordering::Relaxed);
        *last = Some(Told { at: now, answer: answer.clone() });
        answer
    }

    fn is_kept(&self, told: &Told<V, E>, now: Duration) -> bool {
        let is_answer = told.answer.as_ref().is_ok_and(|value| !(self.is_nothing)(value));
        is_answer && now.saturating_sub(told.at) < self.keep
    }

    /// What is known about this is out of date.
    pub(super) fn forget(&self, key: &K) {
        self.slots.lock().remove(key);
    }

    /// Everything that is known is out of date.
    pub(super) fn forget_all(&self) {
        self.slots.lock().clear();
    }

    fn slot(&self, key: K, now: Duration) -> Arc<Slot<V, E>> {
        let mut slots = self.slots.lock();
        if slots.len() >= MANY {
            slots.retain(|_, (used, _)| now.saturating_sub(*used) < self.keep);
        }
        let new = || (now, Arc::new(Slot { told: AtomicU64::new(0), last: None.into() }));
        let (used, slot) = slots.entry(key).or_insert_with(new);
        *used = now;
        Arc::clone(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Lookups whose time is set by hand, and what to ask.
    struct Asked {
        time: Arc<AtomicU64>,
        lookups: Lookups<&'static str, usize, &'static str>,
        count: AtomicUsize,
    }

    impl Asked {
        fn new() -> Self {
            let time = Arc::new(AtomicU64::new(0));
            let ticking = Arc::clone(&time);
            let clock: Clock =
                Arc::new(move || Duration::from_secs(ticking.load(Ordering::Relaxed)));
            let lookups = Lookups::new(&clock, SHORT).unless(|found| *found == 0);
            Self { time, lookups, count: AtomicUsize::new(0) }
        }

        async fn get(&self, answer: Result<usize, &'static str>) -> Result<usize, &'static str> {
            let ask = async {
                tokio::task::yield_now().await;
                self.count.fetch_add(1, Ordering::Relaxed);
                answer
            };
            self.lookups.get("a", ask).await
        }

        fn count(&self) -> usize {
            self.count.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn one_asks_for_all_and_asks_again_later() {
        let asked = Asked::new();
        assert_eq!(tokio::join!(asked.get(Ok(1)), asked.get(Ok(2))), (Ok(1), Ok(1)));
        assert_eq!(asked.get(Ok(3)).await, Ok(1));
        asked.time.store(SHORT.as_secs(), Ordering::Relaxed);
        assert_eq!(asked.get(Ok(4)).await, Ok(4));
        assert_eq!(asked.lookups.get("b", async { Ok(5) }).await, Ok(5));
        asked.lookups.forget(&"a");
        assert_eq!(asked.get(Ok(6)).await, Ok(6));
    }

    #[tokio::test]
    async fn a_failure_and_nothing_are_shared_by_those_who_wait_and_not_kept() {
        for answer in [Err("not now"), Ok(0)] {
            let asked = Asked::new();
            let all = tokio::join!(asked.get(answer), asked.get(Ok(1)), asked.get(Ok(2)));
            assert_eq!((all, asked.count()), ((answer, answer, answer), 1));
            assert_eq!((asked.get(Ok(3)).await, asked.count()), (Ok(3), 2));
        }
    }

    #[tokio::test]
    async fn who_is_given_up_tells_nobody_and_the_next_one_asks() {
        let asked = Asked::new();
        let given_up = async {
            let never = asked.lookups.get("a", std::future::pending());
            tokio::time::timeout(Duration::ZERO, never).await.unwrap_err();
        };
        assert_eq!(tokio::join!(given_up, asked.get(Ok(1))), ((), Ok(1)));
    }
}

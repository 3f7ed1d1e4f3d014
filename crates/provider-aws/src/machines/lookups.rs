//! A short memory for what many machines ask alike: images, subnets, security groups, zones, names of networks, user data.
//!
//! Of many who ask the same at once, one asks and the others wait for the answer. Failures are not remembered.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use machinist_provider::parts::Clock;
use parking_lot::Mutex;

/// Long enough for a set that grows by hundreds, short enough that nobody waits for what was changed.
pub(super) const SHORT: Duration = Duration::from_secs(30);

/// For what hardly ever changes and concerns every machine: about as long as it takes to look at all of them once.
pub(super) const LONG: Duration = Duration::from_mins(10);

/// Beyond this many, those that are out of date are forgotten.
const MANY: usize = 256;

type Slot<V> = Arc<tokio::sync::Mutex<Option<(Duration, V)>>>;

pub(super) struct Lookups<K, V> {
    clock: Clock,
    keep: Duration,
    slots: Mutex<HashMap<K, (Duration, Slot<V>)>>,
}

impl<K: Eq + Hash, V: Clone> Lookups<K, V> {
    pub(super) fn new(clock: &Clock, keep: Duration) -> Self {
        Self { clock: Arc::clone(clock), keep, slots: Mutex::default() }
    }

    /// What is known, or what `ask` says.
    pub(super) async fn get<E>(
        &self,
        key: K,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let now = (self.clock)();
        let slot = self.slot(key, now);
        let mut slot = slot.lock().await;
        if let Some((since, value)) = slot.as_ref()
            && now.saturating_sub(*since) < self.keep
        {
            return Ok(value.clone());
        }
        let value = ask.await?;
        *slot = Some((now, value.clone()));
        Ok(value)
    }

    /// What is known about this is out of date.
    pub(super) fn forget(&self, key: &K) {
        self.slots.lock().remove(key);
    }

    /// Everything that is known is out of date.
    pub(super) fn forget_all(&self) {
        self.slots.lock().clear();
    }

    fn slot(&self, key: K, now: Duration) -> Slot<V> {
        let mut slots = self.slots.lock();
        if slots.len() >= MANY {
            slots.retain(|_, (used, _)| now.saturating_sub(*used) < self.keep);
        }
        let (used, slot) = slots.entry(key).or_default();
        *used = now;
        Arc::clone(slot)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn one_asks_for_all_and_asks_again_later() {
        let time = Arc::new(AtomicU64::new(0));
        let ticking = Arc::clone(&time);
        let clock: Clock = Arc::new(move || Duration::from_secs(ticking.load(Ordering::Relaxed)));
        let lookups = Lookups::<&str, usize>::new(&clock, SHORT);
        let asked = AtomicUsize::new(0);
        let ask = async || {
            tokio::task::yield_now().await;
            match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Err("not now"),
                count => Ok(count),
            }
        };
        assert_eq!(lookups.get("a", ask()).await, Err("not now"), "failures are not kept");
        let both = tokio::join!(lookups.get("a", ask()), lookups.get("a", ask()));
        assert_eq!(both, (Ok(1), Ok(1)));
        assert_eq!(lookups.get("b", ask()).await, Ok(2));
        time.store(SHORT.as_secs(), Ordering::Relaxed);
        assert_eq!(lookups.get("a", ask()).await, Ok(3));
    }
}

//! The cloud: [`SimCloud`] is its state, [`SimServer`] the HTTP server, [`Modes`] its faults.
//!
//! `http` reads a request, `service` carries it out under one lock on `store`, and `life` derives states from the
//! clock, which may run faster than real time. Tests hold a clone of [`SimCloud`] to count, inject faults and kill.

mod clock;
mod http;
mod life;
mod modes;
mod service;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;

use self::clock::Clock;
pub use self::http::SimServer;
pub use self::modes::{Modes, Trouble};
use self::store::Store;
use crate::wire::{Instance, State};

/// A cloud. Clones share it.
#[derive(Debug, Clone)]
pub struct SimCloud(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    store: Mutex<Store>,
    modes: Mutex<Modes>,
    calls: Mutex<Calls>,
    followers: Mutex<Vec<mpsc::UnboundedSender<String>>>,
}

#[derive(Debug, Default)]
struct Calls {
    by_operation: BTreeMap<&'static str, u64>,
    /// The current second of cloud time, and the calls in it.
    second: (u64, u32),
}

impl SimCloud {
    /// An empty cloud. The seed determines names and faults; its clock runs `scale` times as fast as real time.
    pub fn new(seed: u64, scale: f64) -> Self {
        Self(Arc::new(Inner {
            clock: Clock::new(scale),
            store: Mutex::new(Store::new(seed)),
            modes: Mutex::default(),
            calls: Mutex::default(),
            followers: Mutex::default(),
        }))
    }

    pub fn modes(&self) -> Modes {
        self.0.modes.lock().clone()
    }

    pub fn set_modes(&self, modes: Modes) {
        *self.0.modes.lock() = modes;
    }

    pub fn change_modes(&self, change: impl FnOnce(&mut Modes)) {
        change(&mut self.0.modes.lock());
    }

    pub fn set_scale(&self, scale: f64) {
        self.0.clock.set_scale(scale);
    }

    pub fn created(&self) -> usize {
        self.store().records.len()
    }

    pub fn live(&self) -> usize {
        self.instances().iter().filter(|instance| instance.state != State::Terminated).count()
    }

    pub fn volumes(&self) -> usize {
        self.instances().iter().map(|instance| instance.volumes.len()).sum()
    }

    /// All instances ever created, in order, also those that are not listed.
    pub fn instances(&self) -> Vec<Instance> {
        let now = self.now();
        self.store().records.iter().map(|record| record.view(now)).collect()
    }

    pub fn instance(&self, id: &str) -> Option<Instance> {
        let now = self.now();
        self.store().get(id).map(|record| record.view(now))
    }

    pub fn of_machine(&self, uid: &str) -> Vec<Instance> {
        let now = self.now();
        self.store().of_machine(uid).map(|record| record.view(now)).collect()
    }

    /// The calls per operation: `create`, `list`, `get`, `tag`, `delete`, `delete-volume`, `refused`.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.0.calls.lock().by_operation.clone()
    }

    /// Kills an instance, as if its host failed. `false` if it does not exist.
    pub fn kill(&self, id: &str) -> bool {
        let now = self.now();
        let mut store = self.store();
        let record = store.get_mut(id).filter(|record| record.state(now).0 != State::Terminated);
        let Some(record) = record else { return false };
        record.life.dies = Some(now);
        record.changed.send_replace(());
        true
    }

    pub fn remove_tag(&self, id: &str, tag: &str) -> bool {
        self.store().get_mut(id).is_some_and(|record| record.tags.remove(tag).is_some())
    }

    /// The ids of all instances, each once: existing ones first, then every new one.
    pub(crate) fn follow(&self) -> mpsc::UnboundedReceiver<String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let store = self.store();
        for record in &store.records {
            // The receiver exists.
            drop(sender.send(record.id.clone()));
        }
        // Under the store's lock, as are the announcements, so that no instance is missed or repeated.
        self.0.followers.lock().push(sender);
        receiver
    }

    /// Waits for a state; `None` if the instance does not exist.
    pub(crate) async fn until(&self, id: &str, wanted: impl Fn(State) -> bool) -> Option<Instance> {
        loop {
            let (mut changed, next) = {
                let now = self.now();
                let store = self.store();
                let record = store.get(id)?;
                if wanted(record.state(now).0) {
                    return Some(record.view(now));
                }
                (record.changed.subscribe(), record.life.next_change(now))
            };
            let due = async {
                match next {
                    Some(time) => self.0.clock.sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                _ = changed.changed() => {}
            }
        }
    }

    /// Until [`end_registration`](Self::end_registration) it is not reported as gone. `false` if it does not run.
    pub(crate) fn begin_registration(&self, id: &str) -> bool {
        let now = self.now();
        self.store().get_mut(id).is_some_and(|record| {
            record.registering = record.state(now).0 == State::Running;
            record.registering
        })
    }

    pub(crate) fn end_registration(&self, id: &str) {
        if let Some(record) = self.store().get_mut(id) {
            record.registering = false;
            record.changed.send_replace(());
        }
    }

    fn announce(&self, id: &str) {
        self.0.followers.lock().retain(|follower| follower.send(id.to_owned()).is_ok());
    }

    fn now(&self) -> Duration {
        self.0.clock.now()
    }

    async fn sleep(&self, time: Duration) {
        self.0.clock.sleep_until(self.now() + time).await;
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock()
    }

    fn count(&self, operation: &'static str) -> u64 {
        let mut calls = self.0.calls.lock();
        *calls.by_operation.entry(operation).or_default() += 1;
        calls.by_operation.values().sum()
    }

    fn is_over_rate(&self, limit: Option<u32>) -> bool {
        let second = self.now().as_secs();
        let mut calls = self.0.calls.lock();
        if calls.second.0 != second {
            calls.second = (second, 0);
        }
        calls.second.1 += 1;
        limit.is_some_and(|limit| calls.second.1 > limit)
    }

    fn takes_a_lost_answer(&self) -> bool {
        let mut modes = self.0.modes.lock();
        let left = modes.lose_create_answers.checked_sub(1);
        modes.lose_create_answers = left.unwrap_or(0);
        left.is_some()
    }
}

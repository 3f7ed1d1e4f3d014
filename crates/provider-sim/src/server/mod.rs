//! The cloud itself: [`SimCloud`] is what there is, [`SimServer`] makes it callable, [`Modes`] is how it behaves.
//!
//! ```text
//! http ── reads a call ──> service ── one lock ──> store ── life (a function of time)
//!                             └── modes: throttled, full, lost, late, hidden
//! ```
//!
//! Nothing ticks in here: what an instance is doing follows from what was asked for and from the clock, which may go faster than real time.
//! A test holds a clone of the [`SimCloud`]: it counts, changes the modes, kills instances. Not here: Nodes (`kubelet`).

mod clock;
mod http;
mod life;
mod modes;
mod service;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::names::TAG_MACHINE_UID;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;

use self::clock::Clock;
pub use self::http::SimServer;
pub use self::modes::{Modes, Trouble};
use self::store::Store;
use crate::wire::{Instance, State};

/// A cloud. Clones are the same cloud; it lasts as long as one of them.
#[derive(Debug, Clone)]
pub struct SimCloud(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    seed: u64,
    clock: Clock,
    store: Mutex<Store>,
    modes: Mutex<Modes>,
    calls: Mutex<Calls>,
    followers: Mutex<Vec<mpsc::UnboundedSender<String>>>,
}

/// What was called.
#[derive(Debug, Default)]
struct Calls {
    all: u64,
    by_operation: BTreeMap<&'static str, u64>,
    /// The second of cloud time that calls are counted in, and how many there were.
    second: (u64, u32),
}

impl SimCloud {
    /// An empty cloud. The seed decides about names and chance, `scale` is how much faster than real time its clock goes.
    pub fn new(seed: u64, scale: f64) -> Self {
        Self(Arc::new(Inner {
            seed,
            clock: Clock::new(scale),
            store: Mutex::new(Store::new(seed)),
            modes: Mutex::default(),
            calls: Mutex::default(),
            followers: Mutex::default(),
        }))
    }

    /// How it behaves.
    pub fn modes(&self) -> Modes {
        self.0.modes.lock().clone()
    }

    /// Behaves like this from now on.
    pub fn set_modes(&self, modes: Modes) {
        *self.0.modes.lock() = modes;
    }

    /// Changes how it behaves.
    pub fn change_modes(&self, change: impl FnOnce(&mut Modes)) {
        change(&mut self.0.modes.lock());
    }

    /// Lets the cloud's clock go at another pace.
    pub fn set_scale(&self, scale: f64) {
        self.0.clock.set_scale(scale);
    }

    /// How many instances were ever made.
    pub fn created(&self) -> usize {
        self.store().len()
    }

    /// How many instances exist: those of which nothing is left do not.
    pub fn live(&self) -> usize {
        self.instances().iter().filter(|instance| instance.state != State::Terminated).count()
    }

    /// How many volumes exist.
    pub fn volumes(&self) -> usize {
        self.instances().iter().map(|instance| instance.volumes.len()).sum()
    }

    /// Every instance that was ever made, as it is now, in the order of their making; also what is not shown to callers.
    pub fn instances(&self) -> Vec<Instance> {
        let now = self.now();
        let store = self.store();
        (0..store.len()).map(|place| store.view(place, now)).collect()
    }

    /// One instance, also if it is not shown to callers.
    pub fn instance(&self, id: &str) -> Option<Instance> {
        let now = self.now();
        let store = self.store();
        store.place(id).map(|place| store.view(place, now))
    }

    /// Every instance that was ever made for a machine.
    pub fn of_machine(&self, uid: &str) -> Vec<Instance> {
        let now = self.now();
        let store = self.store();
        store.of_machine(uid).iter().map(|place| store.view(*place, now)).collect()
    }

    /// How many instances that exist each machine has. More than one is a duplicate.
    pub fn live_per_machine(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for instance in self.instances() {
            if instance.state != State::Terminated
                && let Some(uid) = instance.tags.get(TAG_MACHINE_UID)
            {
                *count.entry(uid.clone()).or_default() += 1;
            }
        }
        count
    }

    /// The instance that was made with this token, if one was.
    pub fn with_token(&self, token: &str) -> Option<Instance> {
        let now = self.now();
        let store = self.store();
        store.with_token(token).map(|place| store.view(place, now))
    }

    /// How often each operation was called: `create`, `list`, `get`, `tag`, `delete`, `delete-volume`, `refused`.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.0.calls.lock().by_operation.clone()
    }

    /// Lets an instance die at once, as when its host fails. `false`: it is not there.
    pub fn kill(&self, id: &str) -> bool {
        let now = self.now();
        let mut store = self.store();
        let Some(place) = store.place(id) else {
            return false;
        };
        let record = store.record_mut(place);
        if record.state(now).0 == State::Terminated {
            return false;
        }
        record.life.dies = Some(now);
        record.changed.send_replace(());
        true
    }

    /// Takes a tag off an instance, as somebody might do by hand. `false`: it was not there.
    pub fn remove_tag(&self, id: &str, tag: &str) -> bool {
        let mut store = self.store();
        store.place(id).is_some_and(|place| store.record_mut(place).take_tag(tag))
    }

    /// The ids of all instances, those that are there first, then every new one.
    pub(crate) fn follow(&self) -> mpsc::UnboundedReceiver<String> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let store = self.store();
        for place in 0..store.len() {
            // The receiver is right here, so it cannot be gone.
            drop(sender.send(store.record(place).id().to_owned()));
        }
        // Still under the store's lock: no instance comes between the list and the following.
        self.0.followers.lock().push(sender);
        receiver
    }

    /// Waits until the state of an instance is one of those wanted; `None`: there is no such instance.
    pub(crate) async fn until(&self, id: &str, wanted: impl Fn(State) -> bool) -> Option<Instance> {
        loop {
            let (mut changed, next) = {
                let now = self.now();
                let store = self.store();
                let place = store.place(id)?;
                let record = store.record(place);
                if wanted(record.state(now).0) {
                    return Some(store.view(place, now));
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

    /// Says that the kubelet of an instance is about to register, so that the instance is not said to be gone meanwhile. `false`: it does
    /// not run any more.
    pub(crate) fn begin_registration(&self, id: &str) -> bool {
        let now = self.now();
        let mut store = self.store();
        let Some(place) = store.place(id) else {
            return false;
        };
        let record = store.record_mut(place);
        record.registering = record.state(now).0 == State::Running;
        record.registering
    }

    /// Says that the kubelet of an instance has registered, or gave up.
    pub(crate) fn end_registration(&self, id: &str) {
        let mut store = self.store();
        if let Some(place) = store.place(id) {
            let record = store.record_mut(place);
            record.registering = false;
            record.changed.send_replace(());
        }
    }

    fn announce(&self, place: usize) {
        let id = self.store().record(place).id().to_owned();
        self.0.followers.lock().retain(|follower| follower.send(id.clone()).is_ok());
    }

    fn now(&self) -> Duration {
        self.0.clock.now()
    }

    async fn sleep(&self, time: Duration) {
        self.0.clock.sleep_until(self.now() + time).await;
    }

    fn seed(&self) -> u64 {
        self.0.seed
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock()
    }

    /// Counts a call and says its number.
    fn count(&self, operation: &'static str) -> u64 {
        let mut calls = self.0.calls.lock();
        *calls.by_operation.entry(operation).or_default() += 1;
        calls.all += 1;
        calls.all
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

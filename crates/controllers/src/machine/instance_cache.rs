//! What is known of instances, without waiting for any cloud.
//!
//! Whoever looks gets what is known at once. What is not known is asked for in the background: questions are collected for a moment and asked
//! together, and for each provider and realm one call is under way at a time, with a pause before the next one: a fleet that waits for its Nodes
//! has somebody coming back all the time. An answer brings the machine back. Answers serve for a while
//! and are then forgotten: a settled fleet takes no memory here.
//!
//! Answers to our own calls count as instances at once. A question that was asked before such a call says nothing any more when its answer
//! comes, and is dropped. They serve until a pass has taken them, however late it comes within reason: it would make the call again.

mod kept;

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::capacity::Realm;
use machinist_provider::cloud::{Cloud, Instance, MachineRef, Sighting};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::tasks::Tasks;
use parking_lot::Mutex;

use self::kept::{Kept, KeptRef};
use super::triggers::Requeue;
use crate::clouds::Chosen;

/// How many machines are asked about in one call.
const BATCH: usize = 200;

/// What is known of instances.
#[derive(Clone)]
pub(super) struct InstanceCache {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    tasks: Tasks,
    clock: SharedClock,
    timings: MachineTimings,
    /// The longest that one call may take.
    patience: Duration,
    requeue: Requeue,
}

#[derive(Default)]
struct State {
    seen: HashMap<Uid, Seen>,
    /// The number of the latest question about a machine. An answer to another one is outdated.
    asked: HashMap<Uid, u64>,
    waiting: HashMap<Lane, Vec<Question>>,
    /// Lanes that have a task.
    driven: HashSet<Lane>,
    sweeping: bool,
    next_number: u64,
}

struct Seen {
    kept: Kept,
    at: Duration,
    /// The answer to a call of our own, which no pass has taken yet.
    owed: bool,
}

/// Who is asked, as whom: these are asked about many machines at once, and one call at a time.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Lane {
    provider: &'static str,
    realm: Realm,
}

struct Question {
    number: u64,
    machine: KeptRef,
}

impl std::fmt::Debug for InstanceCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seen = self.inner.state.lock().seen.len();
        f.debug_struct("InstanceCache").field("seen", &seen).finish_non_exhaustive()
    }
}

impl InstanceCache {
    /// Nothing is known yet. `requeue` hears of every answer, and must not block.
    pub(super) fn new(
        tasks: Tasks,
        clock: SharedClock,
        timings: MachineTimings,
        patience: Duration,
        requeue: Requeue,
    ) -> Self {
        let state = Mutex::default();
        Self { inner: Arc::new(Inner { state, tasks, clock, timings, patience, requeue }) }
    }

    /// What is known of a machine's instance; never waits. If nothing is, somebody is sent to ask.
    pub(super) fn look(&self, chosen: &Chosen, machine: &MachineRef) -> Sighting {
        let lane = Lane { provider: chosen.provider, realm: machine.access.clone() };
        let must_drive = {
            let mut state = self.inner.state.lock();
            if let Some(sighting) = state.known(&machine.uid, &self.inner) {
                return sighting;
            }
            state.ask(&lane, machine)
        };
        if must_drive {
            let (inner, cloud) = (Arc::clone(&self.inner), Arc::clone(&chosen.cloud));
            self.inner.tasks.spawn(inner.drive(lane, cloud));
        }
        Sighting::NotAsked
    }

    /// What is known of a machine's instance, if anything is. Asks nobody.
    pub(super) fn known(&self, uid: &Uid) -> Option<Sighting> {
        self.inner.state.lock().known(uid, &self.inner)
    }

    /// The answer to a call of our own: newer than anything that was asked before.
    pub(super) fn saw(&self, machine: &MachineRef, instance: &Arc<Instance>) {
        let at = self.inner.clock.uptime();
        let must_sweep = {
            let mut state = self.inner.state.lock();
            state.asked.remove(&machine.uid);
            let kept = Sighting::Present(Arc::clone(instance)).into();
            state.put(machine.uid.clone(), Seen { kept, at, owed: true })
        };
        if must_sweep {
            self.inner.start_sweeping();
        }
        (self.inner.requeue)(&machine.key);
    }

    /// What was known or asked before is out of date: a call of our own may have changed it.
    pub(super) fn forget(&self, uid: &Uid) {
        let mut state = self.inner.state.lock();
        state.seen.remove(uid);
        state.asked.remove(uid);
    }
}

impl State {
    fn known(&mut self, uid: &Uid, inner: &Inner) -> Option<Sighting> {
        let seen = self.seen.get_mut(uid).filter(|seen| inner.serves(seen))?;
        seen.owed = false;
        Some(seen.kept.sighting())
    }

    /// Notes a question, unless it is under way. Returns whether the lane needs a task.
    fn ask(&mut self, lane: &Lane, machine: &MachineRef) -> bool {
        if self.asked.contains_key(&machine.uid) {
            return false;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.asked.insert(machine.uid.clone(), number);
        let question = Question { number, machine: KeptRef::new(machine) };
        self.waiting.entry(lane.clone()).or_default().push(question);
        self.driven.insert(lane.clone())
    }

    /// Stores a sighting. Returns whether somebody has to sweep from now on.
    fn put(&mut self, uid: Uid, seen: Seen) -> bool {
        self.seen.insert(uid, seen);
        !std::mem::replace(&mut self.sweeping, true)
    }

    /// Gives back the room that a burst took.
    fn give_back(&mut self) {
        let Self { seen, asked, waiting, driven, sweeping: _, next_number: _ } = self;
        seen.shrink_to_fit();
        asked.shrink_to_fit();
        waiting.shrink_to_fit();
        driven.shrink_to_fit();
    }

    /// The next questions of a lane and whether more wait; `None` if there are none, and then the lane has no task any more.
    fn next_batch(&mut self, lane: &Lane) -> Option<(Vec<Question>, bool)> {
        let mut waiting = self.waiting.remove(lane).unwrap_or_default();
        if waiting.is_empty() {
            self.driven.remove(lane);
            return None;
        }
        let rest = waiting.split_off(waiting.len().min(BATCH));
        let more = !rest.is_empty();
        if more {
            self.waiting.insert(lane.clone(), rest);
        }
        Some((waiting, more))
    }
}

impl Inner {
    /// Whether a sighting is recent enough. What is on its way is looked at again and again, and each look has to see something new.
    fn serves(&self, seen: &Seen) -> bool {
        let settled = seen.kept.is_running();
        let timings = &self.timings;
        let time = if settled { timings.sighting } else { timings.sighting.min(timings.poll / 2) };
        // Workers may be behind. Somebody who has not come by then will not create anything soon, either.
        let time = if seen.owed { time.max(timings.creation / 4) } else { time };
        self.clock.uptime().saturating_sub(seen.at) < time
    }

    /// Asks until there is nothing to ask.
    async fn drive(self: Arc<Self>, lane: Lane, cloud: Arc<dyn Cloud>) {
        let stop = self.tasks.stopping();
        let work = async {
            tokio::time::sleep(self.timings.gather).await;
            loop {
                let Some((batch, more)) = self.state.lock().next_batch(&lane) else { return };
                self.ask(&*cloud, batch).await;
                if !more {
                    tokio::time::sleep(self.timings.between_questions).await;
                }
            }
        };
        stop.run_until_cancelled(work).await;
    }

    async fn ask(self: &Arc<Self>, cloud: &dyn Cloud, batch: Vec<Question>) {
        let (numbers, machines): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|question| (question.number, question.machine.whole())).unzip();
        // A provider that panics must not take the lane with it: nobody would ask there ever again.
        let describe = AssertUnwindSafe(async { cloud.describe(&machines).await }).catch_unwind();
        let (answers, silence) = match tokio::time::timeout(self.patience, describe).await {
            Ok(Ok(answers)) => (answers, "the cloud did not say anything about it"),
            Ok(Err(_)) => {
                tracing::error!(machines = machines.len(), "a provider panicked when it was asked");
                (Vec::new(), "the provider failed when the cloud was to be asked")
            }
            Err(_) => (Vec::new(), "the cloud did not answer in time"),
        };
        let mut answers = answers.into_iter();
        let at = self.clock.uptime();
        let mut must_sweep = false;
        {
            let mut state = self.state.lock();
            for (machine, number) in machines.iter().zip(numbers) {
                let answer = answers.next();
                let answer = answer.unwrap_or_else(|| Sighting::Unknown(unanswered(silence)));
                if state.asked.get(&machine.uid) == Some(&number) {
                    state.asked.remove(&machine.uid);
                    let seen = Seen { kept: answer.into(), at, owed: false };
                    must_sweep |= state.put(machine.uid.clone(), seen);
                }
            }
        }
        if must_sweep {
            self.start_sweeping();
        }
        for machine in &machines {
            (self.requeue)(&machine.key);
        }
    }

    /// Forgets what no longer serves, for as long as there is anything.
    fn start_sweeping(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            let stop = inner.tasks.stopping();
            let sweep = async {
                loop {
                    tokio::time::sleep(inner.timings.sighting).await;
                    let mut state = inner.state.lock();
                    state.seen.retain(|_, seen| inner.serves(seen));
                    state.give_back();
                    if state.seen.is_empty() {
                        state.sweeping = false;
                        return;
                    }
                }
            };
            stop.run_until_cancelled(sweep).await;
        });
    }
}

fn unanswered(message: &str) -> Failure {
    Failure { category: Category::Unavailable, retry: Retry::Backoff, message: message.to_owned() }
}

#[cfg(test)]
mod tests;

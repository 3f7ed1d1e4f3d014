//! Which instance is in which group, without waiting for the cloud.
//!
//! What is not known is asked for in the background: questions are collected for a moment and asked together, each region for itself: one that does
//! not answer keeps no other one waiting. An answer wakes those that wait. An instance stays in its group, so an answer serves for long; that there is none, or that nobody could say, is asked again soon.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::{InstanceId, NodeGroups};
use machinist_runtime::clock::SharedClock;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;
use parking_lot::Mutex;

/// Which instance is in which group.
#[derive(Clone)]
pub struct Belongings(Arc<Inner>);

struct Inner {
    groups: Arc<dyn NodeGroups>,
    tasks: Tasks,
    clock: SharedClock,
    timings: Timings,
    machines: MachineTimings,
    state: Mutex<State>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    known: HashMap<(Arc<str>, Arc<str>), (Belonging, Duration)>,
    waiting: BTreeMap<Arc<str>, BTreeSet<InstanceId>>,
    /// The regions where somebody asks.
    asking: BTreeSet<Arc<str>>,
}

/// In which group an instance is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Belonging {
    /// In this one.
    Group(Arc<str>),
    /// In none, or the instance does not exist.
    NoGroup,
    /// It is being asked for.
    NotYet,
    /// Nobody could say, because of this.
    Unknown(String),
}

impl std::fmt::Debug for Belongings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Belongings")
            .field("known", &self.0.state.lock().known.len())
            .finish_non_exhaustive()
    }
}

impl Belongings {
    /// Nothing is known yet. `wake` is called after every answer, and must not block.
    pub fn new(
        groups: Arc<dyn NodeGroups>,
        tasks: Tasks,
        clock: SharedClock,
        timings: Timings,
        machines: MachineTimings,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (state, wake) = (Mutex::default(), Box::new(wake));
        Self(Arc::new(Inner { groups, tasks, clock, timings, machines, state, wake }))
    }

    /// In which group an instance is, as far as it is known. If it is not, somebody is sent to ask.
    pub fn look(&self, region: &Arc<str>, instance: &str) -> Belonging {
        let inner = &self.0;
        let key = (Arc::clone(region), Arc::from(instance));
        let mut state = inner.state.lock();
        let known = state.known.get(&key).cloned();
        let fresh = known.as_ref().is_some_and(|known| inner.serves(known));
        if !fresh {
            state.waiting.entry(key.0).or_default().insert(InstanceId(key.1));
            if state.asking.insert(Arc::clone(region)) {
                inner.tasks.spawn(Arc::clone(inner).ask(Arc::clone(region)));
            }
        }
        // What was known serves until there is something newer.
        known.map_or(Belonging::NotYet, |(belonging, _)| belonging)
    }
}

impl Inner {
    fn serves(&self, (belonging, at): &(Belonging, Duration)) -> bool {
        let for_long = matches!(belonging, Belonging::Group(_));
        let time = if for_long { self.timings.sync_period } else { self.machines.sighting };
        self.clock.uptime().saturating_sub(*at) < time
    }

    /// Asks in one region until there is nothing to ask.
    async fn ask(self: Arc<Self>, region: Arc<str>) {
        let stop = self.tasks.stopping();
        let work = async {
            loop {
                tokio::time::sleep(self.machines.gather).await;
                let waiting = {
                    let mut state = self.state.lock();
                    let waiting = state.waiting.remove(&region);
                    if waiting.is_none() {
                        state.asking.remove(&region);
                    }
                    waiting
                };
                let Some(instances) = waiting else { return };
                self.ask_region(&region, instances.into_iter().collect()).await;
                (self.wake)();
            }
        };
        stop.run_until_cancelled(work).await;
    }

    async fn ask_region(&self, region: &Arc<str>, instances: Vec<InstanceId>) {
        let asked = self.groups.groups_of(region, &instances);
        let answer = match tokio::time::timeout(self.timings.cloud_call, asked).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the cloud did not answer in time".to_owned()),
        };
        if let Err(error) = &answer {
            tracing::warn!(%error, %region, instances = instances.len(), "could not ask for the groups of instances");
        }
        let at = self.clock.uptime();
        let mut state = self.state.lock();
        state.known.retain(|_, known| self.serves(known));
        for instance in instances {
            let belonging = match &answer {
                Err(error) => Belonging::Unknown(error.clone()),
                Ok(found) => match found.get(&instance) {
                    Some(Some(group)) => Belonging::Group(Arc::clone(&group.0)),
                    Some(None) | None => Belonging::NoGroup,
                },
            };
            state.known.insert((Arc::clone(region), instance.0), (belonging, at));
        }
    }
}

#[cfg(test)]
mod tests;

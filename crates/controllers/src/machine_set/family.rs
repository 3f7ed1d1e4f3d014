//! Who belongs to whom, in the terms of the caches: the index of machines by their manager, and the sets that a change concerns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_api::resource::MACHINE_SETS;
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;
use parking_lot::Mutex;

use crate::kinds::{Machine, MachineSets};

/// Past this many, what was remembered is forgotten: asking again is harmless.
const MOST_REMEMBERED: usize = 1024;

/// The uid of whoever manages a machine.
pub(super) fn uid_of_manager(entry: &Entry<Machine>) -> Option<&str> {
    match entry {
        Entry::Known(machine) => machine.owner.as_ref().map(|owner| &*owner.uid.0),
        Entry::Undecodable(object) => {
            object.owners.iter().find(|owner| owner.controller).map(|owner| &*owner.uid)
        }
    }
}

/// The term under which machines of a namespace that nobody manages are found. No uid has a slash.
pub(super) fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}

/// The terms under which a machine is found: its manager's uid, or that it has none.
pub(super) fn by_manager(entry: &Entry<Machine>) -> Vec<Arc<str>> {
    match entry {
        Entry::Known(machine) => match &machine.owner {
            Some(owner) => vec![Arc::from(&owner.uid.0)],
            None => vec![orphans_of(&machine.meta.key.namespace).into()],
        },
        // Nobody adopts what cannot be read.
        Entry::Undecodable(_) => uid_of_manager(entry).map(Arc::from).into_iter().collect(),
    }
}

/// The sets that a machine concerns: the one that manages it, or, if nobody does, those that select it.
pub(super) fn sets_of(entry: &Entry<Machine>, sets: &Cache<MachineSets>) -> Vec<ObjectKey> {
    let namespace = &entry.meta().key.namespace;
    let set = |kind: &str, name: Arc<str>| {
        let is_set = kind == MACHINE_SETS.kind;
        is_set.then(|| ObjectKey { namespace: Arc::clone(namespace), name })
    };
    match entry {
        Entry::Known(machine) => match &machine.owner {
            Some(owner) => set(&owner.kind, Arc::clone(&owner.name)).into_iter().collect(),
            None => sets.select(|set| {
                set.meta.key.namespace == *namespace
                    && set
                        .state
                        .spec
                        .selector
                        .as_ref()
                        .is_ok_and(|one| one.matches(&machine.labels))
            }),
        },
        Entry::Undecodable(object) => {
            let owner = object.owners.iter().find(|owner| owner.controller);
            owner
                .and_then(|owner| set(&owner.kind, owner.name.as_str().into()))
                .into_iter()
                .collect()
        }
    }
}

/// Sets for whose generation the machines were listed, and none was deleted since. Forgetting one costs a list and nothing else.
#[derive(Debug, Default)]
pub(super) struct Looked(Mutex<HashMap<Uid, i64>>);

impl Looked {
    pub(super) fn has(&self, set: &Uid, generation: i64) -> bool {
        self.0.lock().get(set) == Some(&generation)
    }

    pub(super) fn add(&self, set: &Uid, generation: i64) {
        let mut looked = self.0.lock();
        if looked.len() >= MOST_REMEMBERED {
            looked.clear();
        }
        looked.insert(set.clone(), generation);
    }

    /// The list has served: what is deleted later is looked at anew, however long the set has had its spec.
    pub(super) fn use_up(&self, set: &Uid) {
        self.0.lock().remove(set);
    }
}

/// When the counts of sets were last written. Forgetting that costs a write and nothing else.
#[derive(Debug)]
pub(super) struct Counted {
    pause: Duration,
    at: Mutex<HashMap<Uid, Duration>>,
}

impl Counted {
    /// Two writes of the same set are `pause` apart.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, at: Mutex::default() }
    }

    /// How much longer counts that still change are not written.
    pub(super) fn hold(&self, set: &Uid, now: Duration) -> Duration {
        let at = self.at.lock().get(set).copied();
        at.map_or(Duration::ZERO, |at| (at + self.pause).saturating_sub(now))
    }

    /// Counts were written.
    pub(super) fn wrote(&self, set: &Uid, now: Duration) {
        let mut at = self.at.lock();
        if at.len() >= MOST_REMEMBERED {
            at.clear();
        }
        at.insert(set.clone(), now);
    }
}

/// Machines that could not be adopted or released, in the version that was tried, and why. Forgetting them costs an attempt and nothing else.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<HashMap<Uid, Refusal>>);

#[derive(Debug)]
struct Refusal {
    version: Version,
    why: Arc<str>,
    passed_over: PassedOver,
}

/// How long a machine that was refused is not tried again, unless it changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum PassedOver {
    /// For good: trying the same again is of no use.
    ForGood,
    /// Until then, on the clock's `uptime`: what is in the way may go by itself.
    Until(Duration),
}

/// Why a machine is not claimed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unclaimed {
    pub(super) why: Arc<str>,
    /// After this time it is tried again, although it has not changed.
    pub(super) again: Option<Duration>,
}

impl Refused {
    /// Why the machine as it is now could not be had or let go, and is not to be tried now.
    pub(super) fn why(&self, machine: &Meta, now: Duration) -> Option<Unclaimed> {
        let refused = self.0.lock();
        let known = refused.get(&machine.uid)?;
        let again = match known.passed_over {
            PassedOver::ForGood => None,
            PassedOver::Until(until) => Some(until.saturating_sub(now)),
        };
        let holds = known.version == machine.version && again != Some(Duration::ZERO);
        holds.then(|| Unclaimed { why: Arc::clone(&known.why), again })
    }

    /// The machine was refused, and is passed over from now on.
    pub(super) fn add(&self, machine: &Meta, why: &str, passed_over: PassedOver) {
        let mut refused = self.0.lock();
        if refused.len() >= MOST_REMEMBERED {
            refused.clear();
        }
        let refusal = Refusal { version: machine.version, why: why.into(), passed_over };
        refused.insert(machine.uid.clone(), refusal);
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;

    use super::*;

    #[test]
    fn counts_are_held_for_the_rest_of_the_pause() {
        let (counted, second) = (Counted::new(Duration::from_secs(1)), Duration::from_secs(1));
        let set = Uid("s".into());
        assert_eq!(counted.hold(&set, second), Duration::ZERO);
        counted.wrote(&set, second);
        assert_eq!(counted.hold(&set, second + second / 4), second / 4 * 3);
        assert_eq!(counted.hold(&set, 2 * second), Duration::ZERO);
        assert_eq!(counted.hold(&Uid("other".into()), second), Duration::ZERO);
    }

    #[test]
    fn a_refusal_holds_until_the_machine_changes_or_its_time_is_over() {
        let refused = Refused::default();
        let at = |version| Meta {
            key: ObjectKey::new("ns", "m"),
            uid: Uid("u".into()),
            version: Version(version),
            deleting: false,
        };
        let second = Duration::from_secs(1);
        let unclaimed = |again| Some(Unclaimed { why: "forbidden".into(), again });
        refused.add(&at(1), "forbidden", PassedOver::ForGood);
        assert_eq!(refused.why(&at(1), second), unclaimed(None));
        assert_eq!(refused.why(&at(2), second), None);
        refused.add(&at(1), "forbidden", PassedOver::Until(3 * second));
        assert_eq!(refused.why(&at(1), second), unclaimed(Some(2 * second)));
        assert_eq!(refused.why(&at(1), 3 * second), None);
    }

    #[test]
    fn a_look_serves_one_deletion_of_one_generation() {
        let (looked, set) = (Looked::default(), Uid("s".into()));
        looked.add(&set, 7);
        assert!(looked.has(&set, 7) && !looked.has(&set, 8));
        looked.use_up(&set);
        assert!(!looked.has(&set, 7));
    }
}

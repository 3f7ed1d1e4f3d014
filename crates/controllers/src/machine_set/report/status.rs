//! The status of a set, as a patch of what differs from what it says now.
//!
//! Counts are those after the pass: what it made is counted, what it deleted is not. `observedGeneration` moves only when a pass without trouble ends
//! with as many machines as the set wants: who waits for it sees the wish carried out, not read.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    CONDITION_PAUSED, CONDITION_REPLICA_FAILURE, REASON_MACHINE_API, SEVERITY_INFO,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::ObjectKey;
use serde_json::{Map, Value, json};

use super::super::decide::wanted;
use super::super::snapshot::{Family, Seen};
use crate::kinds::MachineSetState;

/// The longest selector that OpenShift's definition takes.
const LONGEST_SELECTOR: usize = 4096;

/// What a pass changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changes<'a> {
    /// How many machines it made.
    pub(super) made: usize,
    /// Which it deleted.
    pub(super) gone: &'a [ObjectKey],
}

/// What is wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble<'a> {
    /// Nothing.
    None,
    /// Whatever was: this pass has not found out.
    AsBefore,
    /// Something that is in the way of nothing that the set wants.
    Beside {
        /// In one word.
        reason: &'static str,
        /// For people.
        message: &'a str,
    },
    /// Something that may mend itself.
    ForNow {
        /// In one word.
        reason: &'static str,
        /// For people.
        message: &'a str,
    },
    /// The set is not valid.
    ForGood {
        /// In one word.
        reason: &'static str,
        /// For people.
        message: &'a str,
    },
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    replicas: usize,
    fully_labeled: usize,
    ready: usize,
    available: usize,
}

const REPLICAS: &str = "replicas";
const FULLY_LABELED: &str = "fullyLabeledReplicas";
const READY: &str = "readyReplicas";
const AVAILABLE: &str = "availableReplicas";

/// Whether a patch has nothing to say but how many machines there are.
pub(super) fn is_only_counts(patch: &Value) -> bool {
    let counts = [REPLICAS, FULLY_LABELED, READY, AVAILABLE];
    let mut names = patch.as_object().into_iter().flat_map(Map::keys);
    names.all(|name| counts.contains(&name.as_str()))
}

/// Whether every machine that is wanted is there, and available.
pub(super) fn is_complete(family: &Family, now: Timestamp) -> bool {
    let Counts { replicas, ready, available, fully_labeled: _ } =
        count(family, Changes::default(), now);
    wanted(&family.says) == Ok(replicas) && ready == replicas && available == replicas
}

/// What differs; `None` where nothing does.
pub(super) fn patch(
    family: &Family,
    changes: Changes<'_>,
    trouble: Trouble<'_>,
    obey_migration: bool,
    now: Timestamp,
) -> Option<Value> {
    let (says, counts) = (&family.says, count(family, changes, now));
    let (status, mut patch) = (&says.status, Map::new());
    for (name, said, is) in [
        (REPLICAS, status.replicas, counts.replicas),
        (FULLY_LABELED, status.fully_labeled, counts.fully_labeled),
        (READY, status.ready, counts.ready),
        (AVAILABLE, status.available, counts.available),
    ] {
        if said.and_then(|said| usize::try_from(said).ok()) != Some(is) {
            patch.insert(name.to_owned(), json!(is));
        }
    }
    let selector = says.spec.selector.as_ref().ok().map(ToString::to_string);
    let selector = selector.filter(|text| text.len() <= LONGEST_SELECTOR);
    if selector.is_some() && status.label_selector.as_deref() != selector.as_deref() {
        patch.insert("labelSelector".to_owned(), json!(selector));
    }
    let in_the_way = !matches!(trouble, Trouble::None | Trouble::Beside { .. });
    let done = !in_the_way && wanted(says) == Ok(counts.replicas);
    if done && status.observed_generation != Some(says.generation) {
        patch.insert("observedGeneration".to_owned(), json!(says.generation));
    }
    error(says, trouble, &mut patch);
    if let Some(list) = conditions(says, trouble, obey_migration, now) {
        patch.insert("conditions".to_owned(), conditions::to_json(&list));
    }
    if patch.is_empty() { None } else { Some(Value::Object(patch)) }
}

fn count(family: &Family, changes: Changes<'_>, now: Timestamp) -> Counts {
    let says = &family.says;
    let gone: HashSet<_> = changes.gone.iter().collect();
    let min_ready = SignedDuration::try_from(says.spec.min_ready).unwrap_or(SignedDuration::MAX);
    // What was made from the template has its labels.
    let mut counts =
        Counts { replicas: changes.made, fully_labeled: changes.made, ..Counts::default() };
    for member in family.members.iter().filter(|member| !gone.contains(&member.key)) {
        counts.replicas += 1;
        let Some(seen) = &member.seen else { continue };
        let available = seen.available_at(min_ready).is_some_and(|at| at < now);
        counts.fully_labeled += usize::from(is_fully_labeled(seen, says));
        counts.ready += usize::from(seen.ready.is_some());
        counts.available += usize::from(available);
    }
    counts
}

fn is_fully_labeled(seen: &Seen, says: &MachineSetState) -> bool {
    says.spec
        .template
        .labels
        .iter()
        .all(|(name, value)| seen.machine.labels.get(name) == Some(value))
}

/// `errorReason` and `errorMessage` are for what nobody but a person can mend.
fn error(says: &MachineSetState, trouble: Trouble<'_>, patch: &mut Map<String, Value>) {
    let (reason, message) = match trouble {
        Trouble::AsBefore => return,
        Trouble::None | Trouble::Beside { .. } | Trouble::ForNow { .. } => (None, None),
        Trouble::ForGood { reason, message } => (Some(reason), Some(message)),
    };
    if says.status.error_reason.as_deref() != reason {
        patch.insert("errorReason".to_owned(), json!(reason));
    }
    if says.status.error_message.as_deref() != message {
        patch.insert("errorMessage".to_owned(), json!(message));
    }
}

fn conditions(
    says: &MachineSetState,
    trouble: Trouble<'_>,
    obey_migration: bool,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let current = &says.status.conditions;
    let running = obey_migration.then(|| {
        Condition::no(
            CONDITION_PAUSED,
            SEVERITY_INFO,
            REASON_MACHINE_API,
            "The AuthoritativeAPI is set to MachineAPI",
        )
    });
    let failure = match trouble {
        Trouble::None => {
            let without = conditions::without(current, CONDITION_REPLICA_FAILURE);
            let with = conditions::set(without.as_deref().unwrap_or(current), running, now);
            return with.or(without);
        }
        Trouble::AsBefore => None,
        Trouble::Beside { reason, message }
        | Trouble::ForNow { reason, message }
        | Trouble::ForGood { reason, message } => {
            Some(Condition::yes(CONDITION_REPLICA_FAILURE).because(reason, message))
        }
    };
    conditions::set(current, running.into_iter().chain(failure), now)
}

//! The status as a patch of what differs. Counts are those after the reconcile. `observedGeneration` is advanced only
//! when a reconcile without a failure ends with the desired number of Machines: a client that waits for it sees the
//! spec applied, not just read.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    CONDITION_MACHINES_PRESERVED, CONDITION_MACHINES_READY, CONDITION_PAUSED,
    CONDITION_REPLICA_FAILURE, ERROR_INVALID_CONFIGURATION, REASON_MACHINE_API, SEVERITY_INFO,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::report::EventReason;
use serde_json::{Map, Value, json};

use super::super::decide::desired_replicas;
use super::super::messages;
use super::super::snapshot::{Seen, View};
use crate::kinds::{MachineSetSpec, MachineSetState};

/// The maximum length of `status.labelSelector` in OpenShift's CRD.
const LONGEST_SELECTOR: usize = 4096;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changes<'a> {
    pub(super) created: usize,
    pub(super) deleted: &'a [ObjectKey],
}

/// What the condition `ReplicaFailure` reports.
#[derive(Debug, Clone, Copy)]
pub(super) enum Problem<'a> {
    None,
    /// Not known: the condition stays as it is.
    Unchanged,
    /// A failure that does not keep the set from its desired state.
    Minor(&'a str),
    /// A failure that may end by itself.
    Failure(EventReason, &'a str),
    Invalid(&'a str),
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
pub(super) const CONDITIONS: &str = "conditions";

/// Whether a patch changes only counts and the condition `MachinesReady`, which changes with them.
pub(super) fn is_only_counts(set: &MachineSetState, patch: &Value) -> bool {
    let counts = [REPLICAS, FULLY_LABELED, READY, AVAILABLE];
    let mut fields = patch.as_object().into_iter().flatten();
    fields.all(|(name, value)| match name.as_str() {
        CONDITIONS => {
            let stored = conditions::to_json(&set.status.conditions);
            others(value).eq(others(&stored))
        }
        name => counts.contains(&name),
    })
}

fn others(list: &Value) -> impl Iterator<Item = &Value> {
    let list = list.as_array().into_iter().flatten();
    list.filter(|condition| condition["type"] != CONDITION_MACHINES_READY)
}

pub(super) fn is_complete(view: &View, now: Timestamp) -> bool {
    let Counts { replicas, ready, available, fully_labeled: _ } =
        count(view, Changes::default(), now);
    desired_replicas(&view.set) == Ok(replicas) && ready == replicas && available == replicas
}

/// The patch without conditions; empty if nothing differs.
pub(super) fn changed_fields(
    view: &View,
    changes: Changes<'_>,
    problem: Problem<'_>,
    now: Timestamp,
) -> Map<String, Value> {
    let (set, counts) = (&view.set, count(view, changes, now));
    let (status, mut patch) = (&set.status, Map::new());
    for (name, stored, current) in [
        (REPLICAS, status.replicas, counts.replicas),
        (FULLY_LABELED, status.fully_labeled, counts.fully_labeled),
        (READY, status.ready, counts.ready),
        (AVAILABLE, status.available, counts.available),
    ] {
        if stored.and_then(|count| usize::try_from(count).ok()) != Some(current) {
            patch.insert(name.to_owned(), json!(current));
        }
    }
    let selector = set.spec.selector.as_ref().ok().map(ToString::to_string);
    let selector = selector.filter(|text| text.len() <= LONGEST_SELECTOR);
    if selector.is_some() && status.label_selector.as_deref() != selector.as_deref() {
        patch.insert("labelSelector".to_owned(), json!(selector));
    }
    let failed = !matches!(problem, Problem::None | Problem::Minor(_));
    let done = !failed && desired_replicas(set) == Ok(counts.replicas);
    if done && status.observed_generation != Some(set.generation) {
        patch.insert("observedGeneration".to_owned(), json!(set.generation));
    }
    error(set, problem, &mut patch);
    patch
}

fn count(view: &View, changes: Changes<'_>, now: Timestamp) -> Counts {
    let spec = &view.set.spec;
    let deleted: HashSet<_> = changes.deleted.iter().collect();
    let min_ready = SignedDuration::try_from(spec.min_ready).unwrap_or(SignedDuration::MAX);
    // New Machines have the labels of the template.
    let mut counts =
        Counts { replicas: changes.created, fully_labeled: changes.created, ..Counts::default() };
    for member in view.members.iter().filter(|member| !deleted.contains(&member.key)) {
        counts.replicas += 1;
        let Some(seen) = &member.seen else { continue };
        let available = seen.available_at(min_ready).is_some_and(|at| at < now);
        counts.fully_labeled += usize::from(is_fully_labeled(seen, spec));
        counts.ready += usize::from(seen.ready.is_some());
        counts.available += usize::from(available);
    }
    counts
}

fn is_fully_labeled(seen: &Seen, spec: &MachineSetSpec) -> bool {
    spec.template.labels.iter().all(|(name, value)| seen.machine.labels.get(name) == Some(value))
}

/// `errorReason` and `errorMessage` are for errors that only an edit of the set can fix.
fn error(set: &MachineSetState, problem: Problem<'_>, patch: &mut Map<String, Value>) {
    let (reason, message) = match problem {
        Problem::Unchanged => return,
        Problem::None | Problem::Minor(_) | Problem::Failure(..) => (None, None),
        Problem::Invalid(message) => (Some(ERROR_INVALID_CONFIGURATION), Some(message)),
    };
    if set.status.error_reason.as_deref() != reason {
        patch.insert("errorReason".to_owned(), json!(reason));
    }
    if set.status.error_message.as_deref() != message {
        patch.insert("errorMessage".to_owned(), json!(message));
    }
}

/// The changed list; `None` if it stays. `ready` is the condition `MachinesReady`, `preserved` is `MachinesPreserved`.
pub(super) fn conditions(
    set: &MachineSetState,
    problem: Problem<'_>,
    obey_migration: bool,
    (ready, preserved): (Condition, Option<Condition>),
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let stored = &set.status.conditions;
    let none_preserved = match &preserved {
        None => conditions::without(stored, CONDITION_MACHINES_PRESERVED),
        Some(_) => None,
    };
    let current = none_preserved.as_deref().unwrap_or(stored);
    let running = obey_migration.then(|| {
        Condition::no(
            CONDITION_PAUSED,
            SEVERITY_INFO,
            REASON_MACHINE_API,
            messages::authority(MachineAuthority::MachineApi),
        )
    });
    let failure =
        |reason, message| Some(Condition::yes(CONDITION_REPLICA_FAILURE).because(reason, message));
    let failure = match problem {
        Problem::None | Problem::Unchanged => None,
        Problem::Minor(message) => failure(EventReason::ReconcileError.as_str(), message),
        Problem::Failure(reason, message) => failure(reason.as_str(), message),
        Problem::Invalid(message) => failure(ERROR_INVALID_CONFIGURATION, message),
    };
    let without = match problem {
        Problem::None => conditions::without(current, CONDITION_REPLICA_FAILURE),
        _ => None,
    };
    let wanted = running.into_iter().chain(failure).chain([ready]).chain(preserved);
    let list = conditions::set(without.as_deref().unwrap_or(current), wanted, now);
    list.or(without).or(none_preserved)
}

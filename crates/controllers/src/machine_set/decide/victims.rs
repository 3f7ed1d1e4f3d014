//! Which machines go first when a set shrinks.
//!
//! Those that somebody marked, then those that failed, then those without a node; among equals the set's policy decides. OpenShift puts ages
//! through an exponential function; the order is that of the ages, so they are compared as they are. What is called random follows from the machine's
//! uid: no name is preferred, and the same machines are chosen if the same question is asked again.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY};
use machinist_domain::hash::fnv1a;
use machinist_domain::machine::Phase;

use super::super::snapshot::Member;
use crate::kinds::{DeletePolicy, Machine};

/// Why a machine goes before others; the first goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Marked,
    Failed,
    WithoutNode,
    Other,
}

/// The `count` machines that go first. One that cannot be decoded does not go.
pub(super) fn choose(
    members: &[Member],
    policy: DeletePolicy,
    count: usize,
    now: Timestamp,
) -> Vec<Arc<Machine>> {
    let seen = members.iter().filter_map(|member| member.seen.as_ref());
    let mut machines: Vec<_> = seen.map(|seen| &seen.machine).collect();
    machines.sort_by_cached_key(|machine| {
        let hash = fnv1a(machine.meta.uid.0.as_bytes());
        (class(machine), rank(machine, policy, now), hash, machine.meta.key.name.clone())
    });
    machines.into_iter().take(count).map(Arc::clone).collect()
}

fn class(machine: &Machine) -> Class {
    let marks = [ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY];
    let marked = |name| machine.annotations.get(name).is_some_and(|value| !value.is_empty());
    let status = &machine.status;
    if marks.into_iter().any(marked) {
        Class::Marked
    } else if status.phase == Some(Phase::Failed)
        || status.error_reason.is_some()
        || status.error_message.is_some()
    {
        Class::Failed
    } else if status.node_ref.is_none() {
        Class::WithoutNode
    } else {
        Class::Other
    }
}

/// Less goes first. One that says it was made in the future, or does not say when, is new.
fn rank(machine: &Machine, policy: DeletePolicy, now: Timestamp) -> SignedDuration {
    let made = Some(machine.created).filter(|created| *created != Timestamp::UNIX_EPOCH);
    let age = made.map_or(SignedDuration::ZERO, |made| now.duration_since(made));
    let age = age.max(SignedDuration::ZERO);
    match policy {
        DeletePolicy::Random => SignedDuration::ZERO,
        DeletePolicy::Newest => age,
        DeletePolicy::Oldest => -age,
    }
}

#[cfg(test)]
mod tests;

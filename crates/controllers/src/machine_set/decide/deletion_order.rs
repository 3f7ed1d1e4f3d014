//! Which Machines are deleted first on scale-down: marked ones, then failed ones, then those without a Node.
//!
//! Within a class `spec.deletePolicy` decides. OpenShift maps ages through an exponential function; only their order
//! matters, so they are compared directly. `Random` follows from the uid: it prefers no name, and a repeated decision
//! chooses the same Machines.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY};
use machinist_domain::hash::fnv1a;
use machinist_domain::machine::Phase;

use super::super::snapshot::Member;
use crate::kinds::{DeletePolicy, Machine};

/// In the order of deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Marked,
    Failed,
    WithoutNode,
    Other,
}

/// The `count` Machines to delete first. A Machine that cannot be decoded is never among them.
pub(super) fn first(
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

/// The lowest rank is deleted first. A Machine with a creation time in the future, or without one, counts as new.
fn rank(machine: &Machine, policy: DeletePolicy, now: Timestamp) -> SignedDuration {
    let created = Some(machine.created).filter(|created| *created != Timestamp::UNIX_EPOCH);
    let age = created.map_or(SignedDuration::ZERO, |created| now.duration_since(created));
    let age = age.max(SignedDuration::ZERO);
    match policy {
        DeletePolicy::Random => SignedDuration::ZERO,
        DeletePolicy::Newest => age,
        DeletePolicy::Oldest => -age,
    }
}

#[cfg(test)]
mod tests;

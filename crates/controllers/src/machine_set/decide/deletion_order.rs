//! Which Machines are deleted first on scale-down. Within a [class](Class) `spec.deletePolicy` decides. OpenShift maps
//! ages through an exponential function; only their order matters, so they are compared directly. `Random` follows from
//! the uid: it prefers no name, and a repeated decision chooses the same Machines.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_domain::hash::fnv1a;

use super::super::snapshot::Member;
use crate::deletion_order::Class;
use crate::kinds::{DeletePolicy, Machine};

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
        (Class::of(machine), rank(machine, policy, now), hash, machine.meta.key.name.clone())
    });
    machines.into_iter().take(count).map(Arc::clone).collect()
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

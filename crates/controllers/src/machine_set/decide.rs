//! From what was observed to what to do.
//!
//! The rule by which nothing is counted twice: a machine exists (it is a member), or may be in the making (its ordinal is open), or has to be
//! made. An ordinal is reserved on the set before it is used, and a set shrinks only when nothing is in the making.

mod victims;

use jiff::Timestamp;
use machinist_domain::machine::MachineAuthority;

use super::error::Refusal;
use super::plan::{MOST_PER_PASS, Plan, Why};
use super::snapshot::{Content, Family, Snapshot};
use crate::kinds::{DeletePolicy, MachineSetState};
use crate::served::{Field, authority};

/// How many machines a set wants that does not say it.
const DEFAULT_REPLICAS: i32 = 1;

/// Decides.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    if snapshot.meta.deleting {
        return Plan::Leave(Why::Deleting);
    }
    let family = match &snapshot.content {
        Content::Undecodable(reason) => return Plan::Refuse(Refusal::Undecodable(reason.clone())),
        Content::Read(family) => family,
    };
    if snapshot.obey_migration
        && let Some(why) = not_ours(&family.says, snapshot.authority_field)
    {
        return Plan::Leave(why);
    }
    match valid(&family.says) {
        Err(refusal) => Plan::Refuse(refusal),
        Ok(_) if !family.orphans.is_empty() || !family.strays.is_empty() => {
            Plan::Claim { adopt: family.orphans.clone(), release: family.strays.clone() }
        }
        Ok(wish) => scale(family, wish, now),
    }
}

/// What a valid set wants.
#[derive(Debug, Clone, Copy)]
struct Wish {
    replicas: usize,
    policy: DeletePolicy,
    window: machinist_domain::ordinals::Window,
}

/// How many machines a set wants.
pub(super) fn wanted(says: &MachineSetState) -> Result<usize, Refusal> {
    let replicas = says.spec.replicas.unwrap_or(DEFAULT_REPLICAS);
    usize::try_from(replicas).map_err(|_| Refusal::Replicas(replicas))
}

fn not_ours(says: &MachineSetState, field: Field) -> Option<Why> {
    match authority(says.status.authority, says.spec.authority, field) {
        MachineAuthority::MachineApi => None,
        MachineAuthority::Unset => Some(Why::NotAssigned(says.spec.authority)),
        elsewhere => Some(Why::Elsewhere(elsewhere)),
    }
}

fn valid(says: &MachineSetState) -> Result<Wish, Refusal> {
    let selector = says.spec.selector.as_ref().map_err(Clone::clone)?;
    if !selector.matches(&says.spec.template.labels) {
        return Err(Refusal::NotItsTemplate { selector: selector.to_string() });
    }
    Ok(Wish {
        replicas: wanted(says)?,
        policy: says.spec.delete_policy.clone()?,
        window: says.window.clone()?,
    })
}

fn scale(family: &Family, wish: Wish, now: Timestamp) -> Plan {
    let Wish { replicas, policy, window } = wish;
    let (there, open) = (family.members.len(), family.open.len());
    if let Some(missing) = replicas.checked_sub(there + open).filter(|missing| *missing > 0) {
        let missing = u64::try_from(missing).unwrap_or(u64::MAX);
        let to = window.advanced(missing, family.open.first().copied(), family.highest);
        if to != window {
            return Plan::MoveWindow { to };
        }
        // The window is as wide as it gets: first make what is in it.
    }
    if there + open <= replicas && open > 0 {
        return Plan::Create(family.open.iter().copied().take(MOST_PER_PASS).collect());
    }
    // From here on nothing is to be made, so nothing may be in the making. What is open is certainly absent.
    if !window.is_closed() {
        return Plan::MoveWindow { to: window.closed() };
    }
    match there.saturating_sub(replicas) {
        0 => Plan::Leave(Why::Settled),
        // Where all of them go there is nothing to choose.
        excess if excess < there && !family.looked => Plan::Look,
        excess => {
            let victims = victims::choose(&family.members, policy, excess.min(MOST_PER_PASS), now);
            if victims.is_empty() {
                Plan::Leave(Why::NobodyToDelete { excess })
            } else {
                Plan::Delete(victims)
            }
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

//! Decides the next step for one MachineSet. Pure: no client, no clock.
//!
//! `replicas − members` would create too many Machines while the cache is stale or after a crash. So ordinals are
//! reserved in the set's [`Window`] before Machines are created with them. An ordinal of the window without a Machine
//! is *open*: its Machine may be in creation, so it counts. docs/internals/architecture.md has a table of the plans and
//! an example. One step per reconcile, in this order: adopt or release, reserve ordinals, create, close the window
//! (after a list, if a create was not answered), list, delete. A set that is [held](super::hold) does none of the last.

mod deletion_order;

use jiff::Timestamp;
use machinist_domain::machine::MachineAuthority;

use super::error::Refusal;
use super::hold::Hold;
use super::ordinals::Window;
use super::plan::{MOST_PER_RECONCILE, Plan, Reason};
use super::snapshot::{InFlight, Snapshot, View};
use crate::kinds::{DeletePolicy, MachineSetState};
use crate::served::{Field, authority};

const DEFAULT_REPLICAS: i32 = 1;

pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    if snapshot.meta.deleting {
        return Plan::NoOp(Reason::Deleting);
    }
    let view = match &snapshot.content {
        Err(reason) => return Plan::Refuse(Refusal::Undecodable(reason.clone())),
        Ok(view) => view,
    };
    if snapshot.obey_migration
        && let Some(plan) = managed_elsewhere(&view.set, snapshot.authority_field)
    {
        return plan;
    }
    let desired = match desired(&view.set) {
        Ok(desired) => desired,
        Err(refusal) => return Plan::Refuse(refusal),
    };
    if !view.orphans.is_empty() || !view.unselected.is_empty() {
        return Plan::Claim { adopt: view.orphans.clone(), release: view.unselected.clone() };
    }
    if Hold::of(&view.set).is_some() {
        return Plan::NoOp(Reason::Held);
    }
    let aborted = view.set.is_aborted();
    if !aborted && let Some(plan) = scale_up(view, desired) {
        return plan;
    }
    // Nothing may be created with this window: all its Machines exist, or too many are counted. Open ordinals are given
    // up, because no Machine is deleted while another one may be in creation.
    if !desired.window.is_closed() {
        return match view.in_flight {
            InFlight::No => Plan::MoveWindow { to: desired.window.closed() },
            InFlight::Maybe(wait) => Plan::NoOp(Reason::InFlight(wait)),
            InFlight::Unlisted => Plan::List,
        };
    }
    match scale_down(view, desired, now) {
        Plan::NoOp(Reason::Settled) if aborted && view.members.len() < desired.replicas => {
            Plan::NoOp(Reason::Aborted)
        }
        plan => plan,
    }
}

/// The valid spec, with the stored window.
#[derive(Debug, Clone, Copy)]
struct Desired {
    replicas: usize,
    delete_policy: DeletePolicy,
    window: Window,
}

fn desired(set: &MachineSetState) -> Result<Desired, Refusal> {
    let selector = set.spec.selector.as_ref().map_err(|error| Refusal::Selector(error.clone()))?;
    if !selector.matches(&set.spec.template.labels) {
        return Err(Refusal::SelectorMismatch { selector: selector.to_string() });
    }
    Ok(Desired {
        replicas: desired_replicas(set)?,
        delete_policy: set.spec.delete_policy.clone().map_err(Refusal::DeletePolicy)?,
        window: set.window.clone().map_err(Refusal::Window)?,
    })
}

pub(super) fn desired_replicas(set: &MachineSetState) -> Result<usize, Refusal> {
    let replicas = set.spec.replicas.unwrap_or(DEFAULT_REPLICAS);
    usize::try_from(replicas).map_err(|_| Refusal::Replicas(replicas))
}

/// Whether another machine API manages the set, or it is not known yet which does.
pub(super) fn is_managed_elsewhere(snapshot: &Snapshot, set: &MachineSetState) -> bool {
    snapshot.obey_migration && managed_elsewhere(set, snapshot.authority_field).is_some()
}

/// The plan for a set that Cluster API manages or is taking over, whose `authoritativeAPI` is unknown, or whose
/// `status.authoritativeAPI` is still empty; `None` if Machine API manages it.
fn managed_elsewhere(set: &MachineSetState, field: Field) -> Option<Plan> {
    match authority(set.status.authority, set.spec.authority, field) {
        MachineAuthority::MachineApi => None,
        // An unset spec means this API, as for Machines.
        MachineAuthority::Unset => Some(Plan::SetAuthority(match set.spec.authority {
            MachineAuthority::Unset => MachineAuthority::MachineApi,
            wanted => wanted,
        })),
        other => Some(Plan::NoOp(Reason::ManagedElsewhere(other))),
    }
}

/// Reserves ordinals for the missing Machines, or creates those of reserved ordinals; `None` if there are enough.
fn scale_up(view: &View, desired: Desired) -> Option<Plan> {
    // Such an orphan is adopted later: a Machine in its place would be one too many.
    let existing = view.members.len() + view.unadopted_orphans;
    let open = view.open_ordinals.len();
    // An unanswered create may still be executed and bring back a Machine that is being deleted: that one counts, too.
    let in_flight = view.in_flight != InFlight::No;
    let returning = if in_flight { view.leaving_ordinals } else { 0 };
    let counted = existing + open + returning;
    let missing = desired.replicas.saturating_sub(counted);
    if missing > 0 {
        let missing = u64::try_from(missing).unwrap_or(u64::MAX);
        // An ordinal whose create may still be executed stays in the window.
        let first_kept = if in_flight {
            desired.window.ordinals().next()
        } else {
            view.open_ordinals.first().copied()
        };
        let to = desired.window.advanced(missing, first_kept, view.highest_ordinal);
        let can_grow = to != desired.window;
        if can_grow && is_unlisted(view) {
            return Some(Plan::List);
        }
        if can_grow {
            return Some(Plan::MoveWindow { to });
        }
        // The window has its maximum width: its Machines are created first.
    }
    // `replicas` was lowered below what is counted: the window is closed first. If members are still fewer than
    // `replicas`, new ordinals are reserved afterwards.
    let all_wanted = open > 0 && counted <= desired.replicas;
    all_wanted.then(|| {
        Plan::Create(view.open_ordinals.iter().copied().take(MOST_PER_RECONCILE).collect())
    })
}

/// Deletes the excess Machines, after a live list of all of them. Requires a closed window. A preserved Machine counts
/// and stays: others are deleted, and if there are none, the set keeps too many.
fn scale_down(view: &View, desired: Desired, now: Timestamp) -> Plan {
    let excess = view.members.len().saturating_sub(desired.replicas);
    if excess == 0 {
        return Plan::NoOp(Reason::Settled);
    }
    // The cache may not have the latest marks and requests.
    if !view.listed {
        return Plan::List;
    }
    let deletable = view.members.iter().filter(|member| member.preserved(now).is_none());
    let deletable: Vec<_> = deletable.cloned().collect();
    let count = excess.min(MOST_PER_RECONCILE);
    let machines = deletion_order::first(&deletable, desired.delete_policy, count, now);
    if !machines.is_empty() {
        Plan::Delete(machines)
    } else if deletable.len() < view.members.len() {
        Plan::NoOp(Reason::Preserved { excess })
    } else {
        Plan::NoOp(Reason::NoneDeletable { excess })
    }
}

/// Whether Machines may have been moved into or out of the set that the cache does not have yet. A move ends with
/// another size, and so with another generation.
fn is_unlisted(view: &View) -> bool {
    view.set.hold.is_some() && !view.listed
}

#[cfg(test)]
mod tests;

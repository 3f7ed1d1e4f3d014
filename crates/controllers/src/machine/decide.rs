//! Decides what to do about a Machine: who manages it, then [`preservation`], an update in place,
//! [`creation`] or [`deletion`].

mod creation;
mod deletion;
mod preservation;
mod record;

use jiff::Timestamp;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::retry::{Failure, Retry};

use super::error::Refusal;
use super::in_place;
use super::plan::{Plan, Reason};
use super::snapshot::{Snapshot, View};

pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let view = match &snapshot.view {
        Ok(view) => view,
        Err(error) => return Plan::NoOp(Reason::Undecodable(error.clone())),
    };
    if let Some(plan) = managed_elsewhere(view) {
        return plan;
    }
    if view.machine.meta.deleting {
        return deletion::decide(view, now);
    }
    let update = || in_place::decide(view, now).map(Plan::InPlace);
    let next = preservation::decide(view, now).or_else(update);
    next.unwrap_or_else(|| preservation::drain(view, creation::decide(view, now), now))
}

/// The plan for a Machine that this controller does not manage, or for which that is not decided yet.
fn managed_elsewhere(view: &View) -> Option<Plan> {
    match view.authority() {
        MachineAuthority::MachineApi => None,
        MachineAuthority::ClusterApi | MachineAuthority::Migrating => {
            Some(preservation::release(view).unwrap_or(Plan::NoOp(Reason::ManagedElsewhere)))
        }
        MachineAuthority::Unset => {
            let wanted = view.machine.wanted_authority;
            let is_set = wanted.as_str().is_some();
            Some(Plan::SetAuthority(if is_set { wanted } else { MachineAuthority::MachineApi }))
        }
        MachineAuthority::Unknown => Some(Plan::NoOp(Reason::UnknownAuthority)),
    }
}

fn unknown(view: &View, failure: &Failure) -> Plan {
    match failure.retry {
        Retry::Again(wait) => Plan::Wait(wait.min(view.rules.timings.poll)),
        _ => Plan::Refuse(Refusal::CouldNotLook(failure.clone())),
    }
}

#[cfg(test)]
mod tests;

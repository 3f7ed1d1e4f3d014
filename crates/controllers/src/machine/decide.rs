//! From what was observed to what to do: who is in charge, then either the way up ([`creation`]) or the way down ([`deletion`]).

mod creation;
mod deletion;
mod record;

use jiff::Timestamp;
use machinist_domain::machine::MachineAuthority;

use super::plan::{Leave, Plan};
use super::snapshot::{Content, Snapshot, View};

/// Decides.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let view = match &snapshot.content {
        Content::Undecodable(error) => return Plan::Leave(Leave::Undecodable(error.clone())),
        Content::Read(view) => view,
    };
    if let Some(plan) = somebody_elses(view) {
        return plan;
    }
    if view.machine.meta.deleting {
        deletion::decide(view, now)
    } else {
        creation::decide(view, now)
    }
}

/// What to do about a machine that is not ours to look after, or of which nobody has said whose it is.
fn somebody_elses(view: &View) -> Option<Plan> {
    match view.authority() {
        MachineAuthority::MachineApi => None,
        MachineAuthority::ClusterApi | MachineAuthority::Migrating => {
            Some(Plan::Leave(Leave::Elsewhere))
        }
        MachineAuthority::Unset => Some(Plan::SettleAuthority),
        MachineAuthority::Unknown => Some(Plan::Leave(Leave::UnknownAuthority)),
    }
}

#[cfg(test)]
mod tests;

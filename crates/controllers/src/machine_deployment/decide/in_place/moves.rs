//! Moves of updated Machines between two sets, one at a time. Each set stores a hold that names the Machine, so every
//! step follows from what is stored: hold the old set, hold the new one, move the Machine, then for the new and at last
//! the old set: end the hold and set the size with the same write.
//!
//! While a hold is stored, the set neither creates nor deletes Machines. A set is held only while its ordinal window is
//! closed, so no Machine is in creation; the window is opened with the set's resourceVersion, which the hold changes.
//! After the release the set lists its Machines before it acts. A move that has begun is finished whatever the template
//! is by then: another plan could meet a write that was not answered.

use std::sync::Arc;

use super::super::super::in_place::{Mark, Step};
use super::super::super::plan::{Plan, Reason, set_name};
use super::super::super::snapshot::{SetView, View};
use super::{mark, writable};
use crate::in_place::{self as marks, UpdateResult};
use crate::kinds::{Machine, MachineSet};
use crate::machine_set::hold::{Hold, Side};

/// Where the Machine of a hold is.
enum Place<'a> {
    /// In this set, and updated to the other one.
    Here(&'a Arc<Machine>),
    /// In this set, but changed: it is not moved any more.
    Stays,
    /// In the other set, possibly being deleted.
    There,
    /// It is being deleted, or gone.
    Leaving,
    /// It is there, but its state is not known.
    Unknown,
}

/// Begins the next move.
pub(super) fn begin(view: &View) -> Option<Plan> {
    let updated =
        |machine: &Machine| UpdateResult::of(&machine.labels) == Some(UpdateResult::Successful);
    for one in view.sets.iter().filter(|one| !one.set.meta.deleting) {
        for machine in writable(view, one) {
            let Some(target) = marks::target(machine).filter(|_| updated(machine)) else {
                continue;
            };
            let to = set(view, target).filter(|to| to.set.meta.uid != one.set.meta.uid);
            let Some(to) = to else {
                // Its MachineSet is gone, or it is there already.
                let uid = &machine.meta.uid;
                return mark(view, |_, machine| {
                    (machine.meta.uid == *uid).then_some(Mark::Removed)
                });
            };
            let refused = view.refused.has(&one.set.meta) || view.refused.has(&to.set.meta);
            if is_settled(one) && is_closed(to) && !refused {
                return Some(hold(one, Side::Out, machine, to));
            }
        }
    }
    None
}

/// The next step of a move that has begun.
pub(in crate::machine_deployment::decide) fn unfinished(view: &View) -> Option<Plan> {
    let plan = next(view)?;
    let is_refused = |set: &Arc<MachineSet>| view.refused.has(&set.meta);
    Some(match &plan {
        // Nothing else is possible until the set can be written.
        Plan::InPlace(Step::Release { set, .. }) if is_refused(set) => Plan::NoOp(Reason::Moving),
        _ => plan,
    })
}

/// A Machine or set whose write was refused ends a move that has not been executed: both sets are released as they are.
fn next(view: &View) -> Option<Plan> {
    let held = |one: &SetView| {
        if one.set.meta.deleting { None } else { Hold::of(&one.set.state) }
    };
    let all: Vec<_> = view.sets.iter().filter_map(|one| Some((one, held(one)?))).collect();
    let is_in = |hold: &Hold, out: &Hold| hold.side == Side::In && hold.uid == out.uid;
    // The last step of a move is that of the old set, so it has the rest of the story.
    if let Some((from, out)) = all.iter().find(|(_, hold)| hold.side == Side::Out) {
        let to = set(view, &out.peer);
        let peer = all.iter().find(|(_, hold)| is_in(hold, out)).map(|(one, _)| *one);
        return match (place(view, from, out), peer, to) {
            (Place::Unknown, ..) => Some(Plan::NoOp(Reason::Moving)),
            (Place::Here(machine), Some(to), _) if !view.refused.has(&machine.meta) => {
                let (from, to) = (Arc::clone(&from.set), Arc::clone(&to.set));
                Some(Plan::InPlace(Step::Move { machine: Arc::clone(machine), from, to }))
            }
            (Place::Here(machine), None, Some(to)) if may_begin(view, machine, to) => {
                Some(hold(to, Side::In, machine, from))
            }
            (Place::There, Some(to), _) => Some(release(to, 1)),
            (_, Some(to), _) => Some(release(to, 0)),
            (Place::Here(_) | Place::Stays, None, _) => Some(release(from, 0)),
            (Place::There | Place::Leaving, None, _) => Some(release(from, -1)),
        };
    }
    // Only an edit by a user leads here.
    all.iter().find(|(_, hold)| hold.side == Side::In).map(|(to, hold)| {
        if is_unknown(to, hold) {
            return Plan::NoOp(Reason::Moving);
        }
        let has = to.members.iter().any(|member| is_it(member.machine.as_deref(), hold));
        release(to, i64::from(has))
    })
}

fn may_begin(view: &View, machine: &Machine, to: &SetView) -> bool {
    is_closed(to) && !view.refused.has(&machine.meta) && !view.refused.has(&to.set.meta)
}

/// Whether a Machine with this name is in the set and cannot be decoded.
fn is_unknown(one: &SetView, hold: &Hold) -> bool {
    let mut unknown = one.members.iter().filter(|member| member.machine.is_none());
    unknown.any(|member| *member.key.name == *hold.machine)
}

fn is_it(machine: Option<&Machine>, hold: &Hold) -> bool {
    machine.is_some_and(|machine| machine.meta.uid == hold.uid)
}

fn place<'a>(view: &'a View, from: &'a SetView, hold: &Hold) -> Place<'a> {
    let own = from.members.iter().filter_map(|member| member.machine.as_ref());
    let found = own.into_iter().find(|machine| machine.meta.uid == hold.uid);
    if let Some(machine) = found {
        let updated = UpdateResult::of(&machine.labels) == Some(UpdateResult::Successful);
        let stands = updated && marks::target(machine) == Some(&hold.peer);
        return if stands { Place::Here(machine) } else { Place::Stays };
    }
    let to = set(view, &hold.peer);
    let has = |to: &SetView| to.members.iter().any(|one| is_it(one.machine.as_deref(), hold));
    if to.is_some_and(has) {
        Place::There
    } else if is_unknown(from, hold) || to.is_some_and(|to| is_unknown(to, hold)) {
        Place::Unknown
    } else {
        Place::Leaving
    }
}

fn set<'a>(view: &'a View, name: &str) -> Option<&'a SetView> {
    let mut sets = view.sets.iter();
    sets.find(|one| !one.set.meta.deleting && *set_name(&one.set) == *name)
}

/// Whether no Machine of the set is in creation.
fn is_closed(one: &SetView) -> bool {
    one.set.state.window.as_ref().is_ok_and(|window| window.is_closed())
}

/// Whether the set has no more Machines than it wants, so it does not delete one at this moment. It may have fewer: one
/// whose rollout was aborted creates none.
fn is_settled(one: &SetView) -> bool {
    let wanted = one.set.state.spec.replicas.and_then(|size| usize::try_from(size).ok());
    is_closed(one) && wanted.is_some_and(|wanted| one.members.len() <= wanted)
}

fn hold(one: &SetView, side: Side, machine: &Machine, peer: &SetView) -> Plan {
    let (name, uid) = (Arc::clone(&machine.meta.key.name), machine.meta.uid.clone());
    let hold = Hold { side, machine: name, uid, peer: set_name(&peer.set).into() };
    Plan::InPlace(Step::Hold { set: Arc::clone(&one.set), hold })
}

fn release(one: &SetView, more: i64) -> Plan {
    let size = one.set.state.spec.replicas.unwrap_or(1);
    let size = usize::try_from(size).unwrap_or(0);
    let to = match more {
        0 => size,
        1.. => size + 1,
        _ => size.saturating_sub(1),
    };
    let all_seen = to >= size || one.members.len() >= to;
    let size = (to != size).then_some((size, to));
    Plan::InPlace(Step::Release { set: Arc::clone(&one.set), size, all_seen })
}

//! Strategy ScaleToZero, as kaws does it: to zero and back, without drains, because all instances are terminated at
//! once. Sizes that a user sets meanwhile stay: before the scale-down all of them, afterwards each that is not zero.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::node_groups::{Group, GroupChange, Lifecycle, Sizes};

use super::{at, keep_marked, timed_out, wait_or_give_up};
use crate::recycler::recycling::messages;
use crate::recycler::recycling::plan::Action;
use crate::recycler::recycling::snapshot::{Snapshot, has_a_place, member, obstacle, stays};

pub(super) fn down(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    let recycle = &snapshot.recycle;
    if group.sizes == Sizes::ZERO {
        return at(snapshot, Step::Emptying, now);
    }
    if !recycle.instances.iter().any(|instance| stays(group, instance)) {
        // A resumed recycle whose instances are gone already; not every size may be restored.
        return at(snapshot, Step::Restoring, now);
    }
    if group.sizes != recycle.original {
        return Action::Store(Box::new(Recycle { original: group.sizes, ..recycle.clone() }));
    }
    if let Some(why) = obstacle(group) {
        return wait_or_give_up(snapshot, &why, now);
    }
    if let Some(action) = timed_out(snapshot, messages::SCALE_DOWN_FAILS, now) {
        return action;
    }
    if let Some(action) = keep_marked(snapshot, group, now) {
        return action;
    }
    Action::Change(GroupChange::Resize { from: group.sizes, to: Sizes::ZERO })
}

pub(super) fn empty(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    // An instance in Standby is not terminated by the scale-down.
    let here = |id: &str| {
        member(group, id)
            .is_some_and(|member| has_a_place(member) || member.lifecycle == Lifecycle::Terminating)
    };
    let here = snapshot.recycle.instances.iter().filter(|instance| here(&instance.id)).count();
    if here == 0 || group.sizes != Sizes::ZERO {
        return at(snapshot, Step::Restoring, now);
    }
    wait_or_give_up(snapshot, &messages::terminating(!group.hooks.is_empty()), now)
}

/// Restores the sizes. This is never given up.
pub(super) fn restore(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    let target = restored(group.sizes, snapshot.recycle.original);
    if group.sizes == target {
        let failed = snapshot.recycle.failure.is_some();
        let next = if failed { Step::Releasing } else { Step::Refilling };
        return at(snapshot, next, now);
    }
    Action::Change(GroupChange::Resize { from: group.sizes, to: target })
}

/// Restores the sizes again if a late scale-down was executed, and keeps those that a user has set until then.
pub(super) fn correct(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Option<Action> {
    let recycle = &snapshot.recycle;
    if recycle.strategy != Strategy::ScaleToZero || group.sizes == recycle.original {
        return None;
    }
    if group.sizes == Sizes::ZERO {
        return Some(at(snapshot, Step::Restoring, now));
    }
    Some(Action::Store(Box::new(Recycle { original: group.sizes, ..recycle.clone() })))
}

/// The original sizes, except those that a user has set.
fn restored(found: Sizes, original: Sizes) -> Sizes {
    let pick = |found: u32, original: u32| if found == 0 { original } else { found };
    let min = pick(found.min, original.min);
    let max = pick(found.max, original.max).max(min);
    let desired = pick(found.desired, original.desired).clamp(min, max);
    Sizes { min, max, desired }
}

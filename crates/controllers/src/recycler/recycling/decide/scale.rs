//! To zero and back, as kaws does it. No Node is drained: where everything goes at once, no budget can hold.
//!
//! What somebody else does to the sizes meanwhile stays. Before they are set to zero, other sizes are the new original ones; afterwards
//! each of the three that is no longer zero is somebody's wish.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_provider::node_groups::{Group, Lifecycle, Sizes};

use super::{at, keep_marked, timed_out, wait_or_give_up};
use crate::recycler::recycling::plan::{Effect, Plan};
use crate::recycler::recycling::snapshot::{
    Snapshot, has_a_place, member, obstacle, stays, stored, wanted, weight,
};

/// Sets the sizes to zero.
pub(super) fn down(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    if group.sizes == Sizes::ZERO {
        return at(snapshot, Step::Emptying, now);
    }
    if !recycle.instances.iter().any(|instance| stays(group, instance)) {
        // They are gone already: whoever began this had come further than the text on the group tells, and maybe not set every size back.
        return at(snapshot, Step::Restoring, now);
    }
    if group.sizes != wanted(recycle.original) {
        let original = stored(group.sizes);
        return Plan::Store(Box::new(Recycle { original, ..recycle.clone() }));
    }
    if let Some(why) = obstacle(group) {
        return wait_or_give_up(snapshot, &why, now);
    }
    if let Some(plan) = timed_out(snapshot, "the group cannot be set to zero", now) {
        return plan;
    }
    if let Some(plan) = keep_marked(snapshot, group, now) {
        return plan;
    }
    Plan::Do(Effect::Resize { from: group.sizes, to: Sizes::ZERO })
}

/// Waits until the instances are gone.
pub(super) fn empty(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    // What somebody has put into Standby meanwhile does not go with the others.
    let here = |id: &str| {
        member(group, id)
            .is_some_and(|member| has_a_place(member) || member.lifecycle == Lifecycle::Terminating)
    };
    let here = snapshot.recycle.instances.iter().filter(|instance| here(&instance.id)).count();
    if here == 0 || group.sizes != Sizes::ZERO {
        return at(snapshot, Step::Restoring, now);
    }
    let why = if group.hooks.is_empty() {
        "instances of the group are still going"
    } else {
        "instances of the group are still going; it has lifecycle hooks, which may hold them"
    };
    wait_or_give_up(snapshot, why, now)
}

/// Sets the sizes back. This is never given up.
pub(super) fn restore(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let target = restored(group.sizes, wanted(snapshot.recycle.original));
    if group.sizes == target {
        let failed = snapshot.recycle.failure.is_some();
        let next = if failed { Step::Releasing } else { Step::Refilling };
        return at(snapshot, next, now);
    }
    Plan::Do(Effect::Resize { from: group.sizes, to: target })
}

/// Waits until as many new instances as the group wants are in use and their Nodes ready.
pub(super) fn refill(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let old = |id: &str| snapshot.recycle.instances.iter().any(|instance| instance.id == id);
    let new = group.members.iter().filter(|member| !old(&member.id.0));
    if weight(new.filter(|member| snapshot.is_available(member))) >= group.sizes.desired {
        return at(snapshot, Step::Unmarking, now);
    }
    wait_or_give_up(snapshot, "new instances of the group are not ready yet", now)
}

/// The original sizes, but for what somebody else has set.
fn restored(found: Sizes, original: Sizes) -> Sizes {
    let pick = |found: u32, original: u32| if found == 0 { original } else { found };
    let min = pick(found.min, original.min);
    let max = pick(found.max, original.max).max(min);
    let desired = pick(found.desired, original.desired).clamp(min, max);
    Sizes { min, max, desired }
}

//! The end of a recycle: what was begun and is not wanted any more is taken back, and the text comes off the group.
//!
//! Nothing here is given up: an end that cannot be reached now is tried again until it can.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, RecycleFailure, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::node_groups::{Group, RefreshStatus};

use super::{at, give_up};
use crate::recycler::recycling::plan::{Effect, Plan};
use crate::recycler::recycling::snapshot::{Marked, Snapshot, stays};

/// What is left to be done where the group does not exist any more.
pub(super) fn without_group(snapshot: &Snapshot, now: Timestamp) -> Plan {
    match snapshot.recycle.step {
        Step::Unmarking => over(snapshot, now),
        Step::Releasing => release(snapshot, None, now),
        _ => {
            let why = "the group does not exist any more".to_owned();
            give_up(snapshot, RecycleFailure::GroupGone, why, now)
        }
    }
}

/// Takes back what was begun: a refresh, and cordons of Nodes whose instances stay.
pub(super) fn release(snapshot: &Snapshot, group: Option<&Group>, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    let refresh = group.and_then(|group| group.refresh.as_ref());
    let ours = refresh.is_some_and(|refresh| {
        recycle.strategy == Strategy::InstanceRefresh
            && recycle.refresh_before.as_deref() != Some(&*refresh.id.0)
            && refresh.status.is_running()
            && refresh.status != RefreshStatus::Cancelling
    });
    if ours {
        return Plan::Do(Effect::CancelRefresh);
    }
    let begun = recycle.instances.iter().filter(|instance| {
        let begun = matches!(instance.state, InstanceState::Draining | InstanceState::Terminating);
        begun && group.is_none_or(|group| stays(group, instance))
    });
    for instance in begun {
        let Some(node) = snapshot.node(&instance.id) else { continue };
        if let Some(mark) = node.mark {
            let effect = Effect::Release { node: node.meta.clone(), uncordon: mark.cordoned };
            return Plan::Do(effect);
        }
    }
    at(snapshot, Step::Unmarking, now)
}

/// Takes the text off the group.
pub(super) fn unmark(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    match snapshot.marked(group) {
        Marked::Ours | Marked::Outdated => Plan::Do(Effect::Unmark),
        Marked::No | Marked::Foreign => over(snapshot, now),
    }
}

fn over(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let step = if snapshot.recycle.failure.is_some() { Step::Failed } else { Step::Succeeded };
    at(snapshot, step, now)
}

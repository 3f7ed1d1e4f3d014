//! Strategy InstanceRefresh: AWS replaces the instances by itself, without drains, and continues without this process.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycleFailure, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::node_groups::{Group, GroupChange, Refresh, RefreshStatus};

use super::{at, give_up, keep_marked, late, progress, timed_out, wait_or_give_up};
use crate::recycler::recycling::messages;
use crate::recycler::recycling::plan::Action;
use crate::recycler::recycling::snapshot::{Snapshot, member};

/// Whether a refresh of this recycle is running.
pub(super) fn is_running(recycle: &Recycle, group: &Group) -> bool {
    let ours = |refresh: &Refresh| {
        recycle.refresh_before.as_deref() != Some(&*refresh.id)
            && refresh.status.is_running()
            && refresh.status != RefreshStatus::Cancelling
    };
    recycle.strategy == Strategy::InstanceRefresh && group.refresh.as_ref().is_some_and(ours)
}

/// Whether a start that was executed late has begun a second refresh. One that begins later is not ours.
pub(super) fn is_late(snapshot: &Snapshot, group: &Group, now: Timestamp) -> bool {
    is_running(&snapshot.recycle, group) && late::may_have_landed(snapshot, now)
}

pub(super) fn decide(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    let recycle = &snapshot.recycle;
    let ours = group
        .refresh
        .as_ref()
        .filter(|refresh| recycle.refresh_before.as_deref() != Some(&*refresh.id));
    let Some(refresh) = ours else { return start(snapshot, group, now) };
    match &refresh.status {
        RefreshStatus::Successful => at(snapshot, Step::Refilling, now),
        RefreshStatus::Failed | RefreshStatus::Cancelled | RefreshStatus::Cancelling => {
            let why = messages::refresh_failed(&refresh.id, refresh.reason.as_deref());
            give_up(snapshot, RecycleFailure::RefreshFailed, why, now)
        }
        RefreshStatus::Pending | RefreshStatus::InProgress | RefreshStatus::Other(_) => {
            let further = progress(snapshot, now, |instance| match member(group, &instance.id) {
                None => InstanceState::Gone,
                Some(_) => instance.state,
            });
            if let Some(action) = further {
                return action;
            }
            let why = messages::refreshing(&refresh.id, refresh.percentage);
            wait_or_give_up(snapshot, &why, now)
        }
    }
}

fn start(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    let desired = group.sizes.desired;
    if !snapshot.recycle.instances.iter().any(|one| member(group, &one.id).is_some()) {
        // All instances are replaced already.
        return at(snapshot, Step::Refilling, now);
    }
    if let Some(action) = timed_out(snapshot, messages::REFRESH_FAILS, now) {
        return action;
    }
    if let Some(action) = keep_marked(snapshot, group, now) {
        return action;
    }
    let stay = desired.saturating_sub(snapshot.settings.max_unavailable);
    let share = (stay * 100).checked_div(desired).unwrap_or(0);
    let min_healthy = u8::try_from(share).unwrap_or(100);
    Action::Change(GroupChange::StartRefresh { min_healthy })
}

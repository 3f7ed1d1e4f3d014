//! The end of a recycle: rolls back what was begun, and removes the mark. This is never given up.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{
    InstanceState, RecycleFailure, RecycledInstance, Step,
};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::retry::{Failure, Retry};
use machinist_provider::node_groups::{Group, GroupChange, Sizes};

use super::{at, give_up, late, refresh, unknown_timeout};
use crate::drain;
use crate::recycler::recycling::messages;
use crate::recycler::recycling::plan::Action;
use crate::recycler::recycling::snapshot::{Marked, Snapshot, member};

/// Gives up a recycle whose EventRecycler is being deleted, unless it is ending already.
pub(super) fn cancel(snapshot: &Snapshot, now: Timestamp) -> Option<Action> {
    let recycle = &snapshot.recycle;
    let ends = matches!(recycle.step, Step::Releasing | Step::Unmarking);
    (recycle.failure.is_none() && !ends).then(|| {
        give_up(snapshot, RecycleFailure::Cancelled, messages::OWNER_DELETED.to_owned(), now)
    })
}

/// The next step while the group cannot be described. Only cordons can be removed then.
pub(super) fn unreachable(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Action {
    let why = messages::not_described(&failure.message);
    let limit = unknown_timeout(snapshot);
    match snapshot.recycle.step {
        Step::Replacing if snapshot.lasted(now) >= limit => {
            let why = messages::timed_out(limit, &why);
            return give_up(snapshot, RecycleFailure::TimedOut, why, now);
        }
        Step::Releasing => {
            let states = |it: &RecycledInstance| may_be_released(snapshot, it, now);
            if let Some(action) = release_node(snapshot, None, states) {
                return action;
            }
        }
        _ => {}
    }
    let pause = match failure.retry {
        Retry::After(pause) => pause,
        _ => snapshot.settings.poll,
    };
    Action::Wait { pause, why }
}

/// The next step where the group is not found. The cloud may be wrong for a while, so the group counts as gone after
/// the timeout of a step, and its mark after another one.
pub(super) fn missing(snapshot: &Snapshot, now: Timestamp) -> Action {
    let left = unknown_timeout(snapshot).saturating_sub(snapshot.lasted(now));
    if snapshot.recycle.step == Step::Releasing || left.is_zero() {
        return without_group(snapshot, now);
    }
    Action::Wait { pause: snapshot.settings.poll.min(left), why: messages::MAYBE_GONE.to_owned() }
}

pub(super) fn without_group(snapshot: &Snapshot, now: Timestamp) -> Action {
    match snapshot.recycle.step {
        Step::Unmarking => {
            release_node(snapshot, None, may_be_begun).unwrap_or_else(|| over(snapshot, now))
        }
        Step::Releasing => release(snapshot, None, now),
        _ => give_up(snapshot, RecycleFailure::GroupGone, messages::GONE.to_owned(), now),
    }
}

pub(super) fn release(snapshot: &Snapshot, group: Option<&Group>, now: Timestamp) -> Action {
    let recycle = &snapshot.recycle;
    if group.is_some_and(|group| is_left_at_zero(snapshot, group)) {
        return at(snapshot, Step::Restoring, now);
    }
    if group.is_some_and(|group| refresh::is_running(recycle, group)) {
        return Action::Change(GroupChange::CancelRefresh);
    }
    // Calls about a group that is gone have no effect.
    let states = |it: &RecycledInstance| match group {
        Some(_) => may_be_released(snapshot, it, now),
        None => may_be_begun(it),
    };
    let wait = || group.and_then(|_| late::wait(snapshot, now));
    release_node(snapshot, group, states)
        .or_else(wait)
        .unwrap_or_else(|| at(snapshot, Step::Unmarking, now))
}

/// Releases a Node that this recycle cordoned and whose instance stays, or was detached from the group.
pub(super) fn release_node(
    snapshot: &Snapshot,
    group: Option<&Group>,
    states: impl Fn(&RecycledInstance) -> bool,
) -> Option<Action> {
    let recycle = &snapshot.recycle;
    if recycle.strategy != Strategy::Replace {
        // No other strategy cordons.
        return None;
    }
    recycle.instances.iter().filter(|instance| states(instance)).find_map(|instance| {
        let member = group.and_then(|group| member(group, &instance.id));
        let goes = member.is_some_and(|member| member.lifecycle.is_leaving());
        // A resumed recycle has lost the states of its instances: the marks on group and Node replace them.
        let resumed = || member.is_some() && group.is_some_and(|group| is_marked(snapshot, group));
        let begun = instance.state != InstanceState::Waiting || resumed();
        let node = snapshot.node(&instance.id)?;
        let mark = drain::Mark::of(node)?;
        let drained =
            matches!(instance.state, InstanceState::Draining | InstanceState::Terminating);
        // The annotation of an instance in another state may belong to another drain.
        let ours = drained || mark.started.as_second() >= recycle.started.as_second();
        let release = Action::Release { node: node.meta.clone(), uncordon: mark.cordoned };
        (begun && ours && !goes).then_some(release)
    })
}

/// Whether the drain of an instance may have begun. The Node of one that is gone stays cordoned.
fn may_be_begun(instance: &RecycledInstance) -> bool {
    instance.state != InstanceState::Gone
}

fn may_be_released(snapshot: &Snapshot, instance: &RecycledInstance, now: Timestamp) -> bool {
    may_be_begun(instance) && !late::may_be_terminated(snapshot, instance, now)
}

/// Whether the group was taken for gone at size zero, the recycle was resumed there and given up, or a late call has
/// scaled the group down again.
fn is_left_at_zero(snapshot: &Snapshot, group: &Group) -> bool {
    let recycle = &snapshot.recycle;
    let all = group.sizes == Sizes::ZERO && recycle.original != Sizes::ZERO;
    // A desired size of zero alone is not our doing after the sizes were restored.
    let desired =
        recycle.failure.is_some() && group.sizes.desired == 0 && recycle.original.desired != 0;
    recycle.strategy == Strategy::ScaleToZero && is_marked(snapshot, group) && (all || desired)
}

pub(super) fn unmark(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    let recycle = &snapshot.recycle;
    if is_left_at_zero(snapshot, group) {
        return at(snapshot, Step::Restoring, now);
    }
    let states = |it: &RecycledInstance| may_be_released(snapshot, it, now);
    if let Some(action) = release_node(snapshot, Some(group), states) {
        return action;
    }
    let wait = late::wait(snapshot, now);
    match snapshot.marked(group) {
        Marked::Foreign => {
            // The Nodes of instances that may still be terminated are released after that.
            let holds = release_node(snapshot, Some(group), may_be_begun).is_some();
            return wait.filter(|_| holds).unwrap_or_else(|| over(snapshot, now));
        }
        Marked::No if recycle.called_until.is_none() || wait.is_none() => {
            return over(snapshot, now);
        }
        Marked::No | Marked::Ours | Marked::Outdated => {}
    }
    let cancels = match recycle.failure {
        // It started none: one that runs belongs to another.
        Some(RecycleFailure::Refused | RecycleFailure::Busy) => false,
        Some(_) => is_marked(snapshot, group) && refresh::is_running(recycle, group),
        None => refresh::is_late(snapshot, group, now),
    };
    if cancels {
        return Action::Change(GroupChange::CancelRefresh);
    }
    wait.unwrap_or(Action::Change(GroupChange::Unmark))
}

fn is_marked(snapshot: &Snapshot, group: &Group) -> bool {
    matches!(snapshot.marked(group), Marked::Ours | Marked::Outdated)
}

fn over(snapshot: &Snapshot, now: Timestamp) -> Action {
    let step = if snapshot.recycle.failure.is_some() { Step::Failed } else { Step::Succeeded };
    at(snapshot, step, now)
}

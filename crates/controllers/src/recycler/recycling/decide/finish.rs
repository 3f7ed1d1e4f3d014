//! The end of a recycle: what was begun and is not wanted any more is taken back, and the text comes off the group.
//!
//! Nothing here is given up: an end that cannot be reached now is tried again until it can.

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycleFailure, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::retry::{Failure, Retry};
use machinist_provider::node_groups::{Group, Refresh, RefreshStatus};

use super::{at, give_up, patience, span};
use crate::recycler::recycling::plan::{Effect, Plan};
use crate::recycler::recycling::snapshot::{Marked, Snapshot, member};

/// Gives up what nobody wants any more, unless it is at its end already.
pub(super) fn cancel(snapshot: &Snapshot, now: Timestamp) -> Option<Plan> {
    let recycle = &snapshot.recycle;
    let ends = matches!(recycle.step, Step::Releasing | Step::Unmarking);
    (recycle.failure.is_none() && !ends).then(|| {
        let why = "its EventRecycler was deleted".to_owned();
        give_up(snapshot, RecycleFailure::Cancelled, why, now)
    })
}

/// What can be done while the cloud cannot be asked. Cordons need no cloud; everything else waits.
pub(super) fn unseen(snapshot: &Snapshot, failure: &Failure, now: Timestamp) -> Plan {
    let why = format!("the group cannot be looked at: {}", failure.message);
    let limit = patience(snapshot);
    match snapshot.recycle.step {
        Step::Replacing if snapshot.lasted(now) >= limit => {
            let why = format!("gave up after {}: {why}", span(limit));
            return give_up(snapshot, RecycleFailure::TimedOut, why, now);
        }
        Step::Releasing => {
            if let Some(plan) = leftover(snapshot, None, may_be_begun) {
                return plan;
            }
        }
        _ => {}
    }
    let pause = match failure.retry {
        Retry::After(pause) => pause,
        _ => snapshot.settings.poll,
    };
    Plan::Wait { pause, why }
}

/// What is done where the cloud says that there is no such group. It may be mistaken for a while: it is believed when it has said so for
/// as long as a step may last, and the tag is forgotten when it has said so once more for as long.
pub(super) fn missing(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let left = patience(snapshot).saturating_sub(snapshot.lasted(now));
    if snapshot.recycle.step == Step::Releasing || left.is_zero() {
        return without_group(snapshot, now);
    }
    let why = "the cloud says that the group does not exist; it is asked again".to_owned();
    Plan::Wait { pause: snapshot.settings.poll.min(left), why }
}

/// What is left to be done where the group does not exist any more.
pub(super) fn without_group(snapshot: &Snapshot, now: Timestamp) -> Plan {
    match snapshot.recycle.step {
        Step::Unmarking => {
            leftover(snapshot, None, may_be_begun).unwrap_or_else(|| over(snapshot, now))
        }
        Step::Releasing => release(snapshot, None, now),
        _ => {
            let why = "the group does not exist any more".to_owned();
            give_up(snapshot, RecycleFailure::GroupGone, why, now)
        }
    }
}

/// Takes back what was begun: sizes, a refresh, and cordons of Nodes whose instances stay.
pub(super) fn release(snapshot: &Snapshot, group: Option<&Group>, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    if group.is_some_and(|group| is_left_at_zero(snapshot, group)) {
        return at(snapshot, Step::Restoring, now);
    }
    if group.is_some_and(|group| is_refreshed(recycle, group)) {
        return Plan::Do(Effect::CancelRefresh);
    }
    leftover(snapshot, group, may_be_begun).unwrap_or_else(|| at(snapshot, Step::Unmarking, now))
}

/// Whether AWS is at a refresh that this recycle has begun, and nobody has told it to stop.
fn is_refreshed(recycle: &Recycle, group: &Group) -> bool {
    let ours = |refresh: &Refresh| {
        recycle.refresh_before.as_deref() != Some(&*refresh.id.0)
            && refresh.status.is_running()
            && refresh.status != RefreshStatus::Cancelling
    };
    recycle.strategy == Strategy::InstanceRefresh && group.refresh.as_ref().is_some_and(ours)
}

/// The release of a Node that this recycle has cordoned and whose instance is not going: it stays, or somebody took it out of the group.
pub(super) fn leftover(
    snapshot: &Snapshot,
    group: Option<&Group>,
    states: fn(InstanceState) -> bool,
) -> Option<Plan> {
    let recycle = &snapshot.recycle;
    if recycle.strategy != Strategy::Replace {
        // No other one cordons.
        return None;
    }
    recycle.instances.iter().filter(|instance| states(instance.state)).find_map(|instance| {
        let member = group.and_then(|group| member(group, &instance.id));
        let goes = member.is_some_and(|member| member.lifecycle.is_leaving());
        // Where a recycle was taken up again nobody knows whose turn had come: the text on the group says that some had, and the Node which.
        let taken_up = || member.is_some() && group.is_some_and(|group| has_text(snapshot, group));
        let begun = instance.state != InstanceState::Waiting || taken_up();
        let node = snapshot.node(&instance.id)?;
        let mark = node.mark?;
        let drained =
            matches!(instance.state, InstanceState::Draining | InstanceState::Terminating);
        // What was settled without us may carry the mark of somebody else's drain.
        let ours = drained || mark.started.as_second() >= recycle.started.as_second();
        let release = Effect::Release { node: node.meta.clone(), uncordon: mark.cordoned };
        (begun && ours && !goes).then_some(Plan::Do(release))
    })
}

/// Whether the turn of an instance may have come. Of one that is gone the Node may linger; it stays cordoned.
fn may_be_begun(state: InstanceState) -> bool {
    state != InstanceState::Gone
}

/// Whether this recycle has set the group to zero and not back: it was given up for gone, or taken up again and given up at once.
fn is_left_at_zero(snapshot: &Snapshot, group: &Group) -> bool {
    let recycle = &snapshot.recycle;
    recycle.strategy == Strategy::ScaleToZero
        && recycle.failure.is_some()
        && has_text(snapshot, group)
        && group.sizes.desired == 0
        && recycle.original.desired != 0
}

/// Takes the text off the group, once nothing that it tells of is left to be put right.
pub(super) fn unmark(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    if is_left_at_zero(snapshot, group) {
        return at(snapshot, Step::Restoring, now);
    }
    if let Some(plan) = leftover(snapshot, Some(group), may_be_begun) {
        return plan;
    }
    if !has_text(snapshot, group) {
        return over(snapshot, now);
    }
    // It was taken up again and given up at once.
    let refreshed = recycle.failure.is_some() && is_refreshed(recycle, group);
    Plan::Do(if refreshed { Effect::CancelRefresh } else { Effect::Unmark })
}

/// Whether the text of this recycle is on the group.
fn has_text(snapshot: &Snapshot, group: &Group) -> bool {
    matches!(snapshot.marked(group), Marked::Ours | Marked::Outdated)
}

fn over(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let step = if snapshot.recycle.failure.is_some() { Step::Failed } else { Step::Succeeded };
    at(snapshot, step, now)
}

//! Calls that the cloud executes after their sender has given up or died, when another process may lead.
//!
//! Harm after the end of a recycle does a late scale-down, a late start of a refresh, a late tag, and a late
//! termination of an instance whose Node is in use again. Every stored step records until when such calls were made
//! ([`recorded`]), as the time at which the step that makes them is left. Until [`left`] is zero, the recycle does not
//! end, and what a late call did is reverted. Other calls repeat what is the case already.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycledInstance, Step};
use machinist_api::event_recycler::spec::Strategy;

use crate::recycler::recycling::messages;
use crate::recycler::recycling::plan::Action;
use crate::recycler::recycling::snapshot::Snapshot;

/// The action, with the end of the calls of the step or state that it leaves.
pub(super) fn recorded(snapshot: &Snapshot, action: Action, now: Timestamp) -> Action {
    match action {
        Action::Store(next) if calls_end(&snapshot.recycle, &next) => {
            Action::Store(Box::new(Recycle { called_until: Some(now), ..*next }))
        }
        action => action,
    }
}

fn calls_end(before: &Recycle, next: &Recycle) -> bool {
    let leaves = next.step != before.step;
    match before.step {
        Step::Planned | Step::ScalingDown => leaves,
        // It is started until it runs, which is certain when the first instance is gone.
        Step::Refreshing => before.instances.iter().all(|it| it.state == InstanceState::Waiting),
        Step::Replacing => before.instances.iter().zip(&next.instances).any(|(before, next)| {
            let terminates = before.state == InstanceState::Terminating;
            let stays = leaves && next.state == InstanceState::Terminating;
            let ends = matches!(next.state, InstanceState::Kept | InstanceState::Draining);
            terminates && (stays || ends)
        }),
        // An earlier version began it.
        _ => before.called_until.is_none() && before.strategy == Strategy::ScaleToZero,
    }
}

/// How long a call may still be executed late.
pub(super) fn left(snapshot: &Snapshot, now: Timestamp) -> Duration {
    let recycle = &snapshot.recycle;
    let scales = recycle.strategy == Strategy::ScaleToZero;
    let until = recycle.called_until.or(scales.then_some(recycle.step_since));
    let passed = |until| Duration::try_from(now.duration_since(until)).unwrap_or_default();
    let late_call = snapshot.settings.late_call;
    until.map_or(Duration::ZERO, |until| late_call.saturating_sub(passed(until)))
}

/// Whether the effect of a late call may have been seen now for the first time.
pub(super) fn may_have_landed(snapshot: &Snapshot, now: Timestamp) -> bool {
    let seen = snapshot.settings.poll;
    !left(snapshot, now.saturating_sub(seen).unwrap_or(now)).is_zero()
}

/// Whether an instance that is not terminated any more may still be, so that its Node must not be used.
pub(super) fn may_be_terminated(
    snapshot: &Snapshot,
    instance: &RecycledInstance,
    now: Timestamp,
) -> bool {
    // Calls that ended before it got its state were about other instances.
    let about_it = snapshot
        .recycle
        .called_until
        .is_some_and(|until| instance.since.is_none_or(|since| until >= since));
    about_it && !left(snapshot, now).is_zero()
}

/// Waits until no call can be executed late any more.
pub(super) fn wait(snapshot: &Snapshot, now: Timestamp) -> Option<Action> {
    let recycle = &snapshot.recycle;
    if recycle.called_until.is_some_and(|until| until > now) {
        // The clock of another process was ahead. The wait does not grow by that.
        return Some(Action::Store(Box::new(Recycle {
            called_until: Some(now),
            ..recycle.clone()
        })));
    }
    let left = left(snapshot, now);
    let pause = snapshot.settings.poll.min(left);
    (!left.is_zero()).then(|| Action::Wait { pause, why: messages::LATE_CALLS.to_owned() })
}

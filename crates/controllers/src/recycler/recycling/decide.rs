//! From what is known of a recycle to its next single step.
//!
//! Two kinds of passes take turns. One stores how far the recycle is and does nothing else; the other does one thing, as it is stored,
//! and stores nothing. What came of that is never remembered but looked at, so an answer that was lost is no loss: every step first
//! asks the group whether it has been taken already.
//!
//! * [`replace`]: instance by instance. [`refresh`]: AWS does it. [`scale`]: to zero and back.
//! * [`finish`]: taking back what was begun, and the tag.
//!
//! Invariants: the group always ends with the sizes that it had, or that somebody else has given it meanwhile; the plan is stored in the
//! status and on the group before anything else is changed; no Node stays cordoned that a recycle has cordoned and whose instance stays.
//! Waits have an end, reckoned from stored times, but for those that put things right, and those for a cloud that cannot be asked: there only
//! a replacement is given up, because it holds cordons, and these go without the cloud.

mod finish;
mod refresh;
mod replace;
mod scale;

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{InstanceState, Recycle, RecycleFailure, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::node_groups::Group;

use super::begin::{Refusal, instances, refusal};
use super::plan::{Effect, Plan};
use super::snapshot::{Marked, Settings, Sight, Snapshot, stored};

/// Decides.
pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    if recycle.step.is_over() {
        return Plan::Over;
    }
    if snapshot.cancelled {
        if let Some(plan) = finish::cancel(snapshot, now) {
            return plan;
        }
    } else if snapshot.settings.dry_run {
        return wait(snapshot, "dryRun is set: the recycle rests where it is");
    }
    let group = match &snapshot.group {
        Sight::Unknown(failure) => return finish::unseen(snapshot, failure, now),
        Sight::Gone => return finish::missing(snapshot, now),
        Sight::There(group) if group.deleting => return finish::without_group(snapshot, now),
        Sight::There(group) => group,
    };
    match recycle.step {
        Step::Planned => begin(snapshot, group, now),
        Step::Replacing => replace::decide(snapshot, group, now),
        Step::Refreshing => refresh::decide(snapshot, group, now),
        Step::ScalingDown => scale::down(snapshot, group, now),
        Step::Emptying => scale::empty(snapshot, group, now),
        Step::Restoring => scale::restore(snapshot, group, now),
        Step::Refilling => scale::refill(snapshot, group, now),
        Step::Releasing => finish::release(snapshot, Some(group), now),
        Step::Unmarking => finish::unmark(snapshot, group, now),
        Step::Succeeded | Step::Failed => Plan::Over,
    }
}

fn begin(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    match snapshot.marked(group) {
        Marked::Foreign => {
            let text = group.mark.clone().unwrap_or_default();
            return give_up(snapshot, RecycleFailure::Busy, Refusal::Busy(text).to_string(), now);
        }
        Marked::No => {}
        Marked::Ours | Marked::Outdated => {
            let first = match recycle.strategy {
                Strategy::Replace => Step::Replacing,
                Strategy::InstanceRefresh => Step::Refreshing,
                Strategy::ScaleToZero => Step::ScalingDown,
            };
            return at(snapshot, first, now);
        }
    }
    let own = snapshot.own_node.as_deref();
    if let Some(refusal) = refusal(recycle.strategy, group, &snapshot.nodes, own) {
        return give_up(snapshot, RecycleFailure::Refused, refusal.to_string(), now);
    }
    if let Some(plan) = timed_out(snapshot, "the plan cannot be stored on the group", now) {
        return plan;
    }
    // Nothing is begun yet: what is there now is what will be put back.
    let (original, present) = (stored(group.sizes), instances(group, &snapshot.nodes));
    let ids = |list: &[_]| -> Vec<String> { list.iter().map(id_of).collect() };
    if recycle.original != original || ids(&recycle.instances) != ids(&present) {
        return Plan::Store(Box::new(Recycle { original, instances: present, ..recycle.clone() }));
    }
    Plan::Do(Effect::Mark(snapshot.text()))
}

fn id_of(instance: &machinist_api::event_recycler::recycle::RecycledInstance) -> String {
    instance.id.clone()
}

/// What must be done about the text on the group before anything else is, if anything.
fn keep_marked(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Option<Plan> {
    match snapshot.marked(group) {
        Marked::Ours => None,
        Marked::No | Marked::Outdated => Some(Plan::Do(Effect::Mark(snapshot.text()))),
        Marked::Foreign => {
            let why = "somebody else has begun to recycle the group".to_owned();
            Some(give_up(snapshot, RecycleFailure::Busy, why, now))
        }
    }
}

/// Stores that the recycle is at `step`.
fn at(snapshot: &Snapshot, step: Step, now: Timestamp) -> Plan {
    let recycle = snapshot.recycle.clone();
    let message = recycle.failure.and(recycle.message.clone());
    Plan::Store(Box::new(Recycle { step, step_since: now, message, ..recycle }))
}

/// Stores that the recycle is given up, and goes back as far as it has come.
fn give_up(snapshot: &Snapshot, failure: RecycleFailure, why: String, now: Timestamp) -> Plan {
    let recycle = snapshot.recycle.clone();
    let step = match (recycle.step, failure) {
        (Step::Planned, _) => Step::Unmarking,
        (_, RecycleFailure::GroupGone) => Step::Releasing,
        (Step::ScalingDown | Step::Emptying | Step::Restoring, _) => Step::Restoring,
        _ => Step::Releasing,
    };
    let (failure, message) = (Some(failure), Some(why));
    Plan::Store(Box::new(Recycle { step, step_since: now, failure, message, ..recycle }))
}

/// Gives the recycle up if the step has lasted too long.
fn timed_out(snapshot: &Snapshot, waited_for: &str, now: Timestamp) -> Option<Plan> {
    let timeout = snapshot.settings.timeout;
    (snapshot.lasted(now) >= timeout).then(|| {
        let why = format!("gave up after {}: {waited_for}", span(timeout));
        give_up(snapshot, RecycleFailure::TimedOut, why, now)
    })
}

/// How long nothing need be heard of the group before the step is given up.
fn patience(snapshot: &Snapshot) -> Duration {
    let Settings { timeout, drain_timeout, .. } = snapshot.settings;
    let mut instances = snapshot.recycle.instances.iter();
    let drains = instances.any(|instance| instance.state == InstanceState::Draining);
    // A drain does not get on in steps that are stored.
    if drains { timeout.max(drain_timeout) } else { timeout }
}

/// Waits for the cloud, or gives the recycle up.
fn wait_or_give_up(snapshot: &Snapshot, why: &str, now: Timestamp) -> Plan {
    timed_out(snapshot, why, now).unwrap_or_else(|| {
        let left = snapshot.settings.timeout.saturating_sub(snapshot.lasted(now));
        Plan::Wait { pause: snapshot.settings.poll.min(left), why: why.to_owned() }
    })
}

fn wait(snapshot: &Snapshot, why: &str) -> Plan {
    Plan::Wait { pause: snapshot.settings.poll, why: why.to_owned() }
}

/// A time as people write it.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 0 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        0 => format!("{time:?}"),
        seconds => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod mishaps;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

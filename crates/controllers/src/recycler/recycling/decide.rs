//! Decides the next single step of a recycle.
//!
//! One reconcile stores the step, the next one executes it. Every step first checks whether the group shows its effect
//! already, so a lost answer is harmless. The group ends with its original sizes, or with those that a user sets
//! meanwhile. No Node stays cordoned whose instance stays. Every wait ends after a stored time, except roll-backs, and
//! waits for a cloud that does not answer: there only a replacement is given up, because it holds cordons.

mod finish;
mod late;
mod refresh;
mod replace;
mod scale;

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{
    InstanceState, Recycle, RecycleFailure, RecycledInstance, Step,
};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::{Group, GroupChange};

use self::replace::Replacing;
use super::begin::{Refusal, instances, refusal};
use super::messages;
use super::plan::{Action, Drains, Plan};
use super::snapshot::{Marked, Settings, Snapshot, weight};
use crate::drain;

pub fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let drains = snapshot.drains.iter().map(|(id, view)| (id.clone(), drain::decide(view, now)));
    let drains: Drains = drains.collect();
    let action = late::recorded(snapshot, next_action(snapshot, &drains, now), now);
    Plan { action, drains }
}

fn next_action(snapshot: &Snapshot, drains: &Drains, now: Timestamp) -> Action {
    let recycle = &snapshot.recycle;
    if recycle.step.is_over() {
        return Action::Over;
    }
    if snapshot.cancelled {
        if let Some(action) = finish::cancel(snapshot, now) {
            return action;
        }
    } else if snapshot.settings.dry_run {
        return wait(snapshot, messages::PAUSED);
    }
    let group = match &snapshot.group {
        Observed::NotAsked => return wait(snapshot, messages::MAYBE_GONE),
        Observed::Unknown(failure) => return finish::unreachable(snapshot, failure, now),
        Observed::Absent => return finish::missing(snapshot, now),
        Observed::Present(group) if group.deleting => return finish::without_group(snapshot, now),
        Observed::Present(group) => group,
    };
    match recycle.step {
        Step::Planned => begin(snapshot, group, now),
        Step::Replacing => Replacing { snapshot, group, drains, now }.decide(),
        Step::Refreshing => refresh::decide(snapshot, group, now),
        Step::ScalingDown => scale::down(snapshot, group, now),
        Step::Emptying => scale::empty(snapshot, group, now),
        Step::Restoring => scale::restore(snapshot, group, now),
        Step::Refilling => refill(snapshot, group, now),
        Step::Releasing => finish::release(snapshot, Some(group), now),
        Step::Unmarking => finish::unmark(snapshot, group, now),
        Step::Succeeded | Step::Failed => Action::Over,
    }
}

fn begin(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
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
    if let Some(action) = timed_out(snapshot, messages::MARK_FAILS, now) {
        return action;
    }
    // Nothing has begun yet, so the present state is the original one.
    let (original, present) = (group.sizes, instances(group, &snapshot.nodes));
    let ids = |list: &[RecycledInstance]| -> Vec<String> {
        list.iter().map(|instance| instance.id.clone()).collect()
    };
    if recycle.original != original || ids(&recycle.instances) != ids(&present) {
        let recycle = Recycle { original, instances: present, ..recycle.clone() };
        return Action::Store(Box::new(recycle));
    }
    Action::Change(GroupChange::Mark(snapshot.text()))
}

/// Waits for the new instances, and reverts what a late call does to them.
fn refill(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Action {
    if let Some(action) = scale::correct(snapshot, group, now) {
        return action;
    }
    if refresh::is_late(snapshot, group, now) {
        return Action::Change(GroupChange::CancelRefresh);
    }
    let old = |id: &str| snapshot.recycle.instances.iter().any(|instance| instance.id == id);
    let new = group.members.iter().filter(|member| !old(&member.id.0));
    if weight(new.filter(|member| snapshot.is_available(member))) >= group.sizes.desired {
        return at(snapshot, Step::Unmarking, now);
    }
    wait_or_give_up(snapshot, messages::NOT_READY, now)
}

/// Marks the group before anything else, where the mark is missing or outdated.
fn keep_marked(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Option<Action> {
    match snapshot.marked(group) {
        Marked::Ours => None,
        Marked::No | Marked::Outdated => Some(Action::Change(GroupChange::Mark(snapshot.text()))),
        Marked::Foreign => {
            Some(give_up(snapshot, RecycleFailure::Busy, messages::TAKEN_OVER.to_owned(), now))
        }
    }
}

fn at(snapshot: &Snapshot, step: Step, now: Timestamp) -> Action {
    let recycle = snapshot.recycle.clone();
    let message = recycle.failure.and(recycle.message.clone());
    Action::Store(Box::new(Recycle { step, step_since: now, message, ..recycle }))
}

/// Stores states of instances that have changed. Each of them restarts the timeout of the step.
fn progress(
    snapshot: &Snapshot,
    now: Timestamp,
    state: impl Fn(&RecycledInstance) -> InstanceState,
) -> Option<Action> {
    let mut further = Recycle { step_since: now, ..snapshot.recycle.clone() };
    let mut any = false;
    for instance in &mut further.instances {
        let state = state(instance);
        if state != instance.state {
            (instance.state, instance.since, any) = (state, Some(now), true);
        }
    }
    any.then(|| Action::Store(Box::new(further)))
}

/// Stores that the recycle is given up, at the step that rolls back what was done.
fn give_up(snapshot: &Snapshot, failure: RecycleFailure, why: String, now: Timestamp) -> Action {
    let recycle = snapshot.recycle.clone();
    let step = match (recycle.step, failure) {
        (Step::Planned, _) => Step::Unmarking,
        (_, RecycleFailure::GroupGone) => Step::Releasing,
        (Step::ScalingDown | Step::Emptying | Step::Restoring, _) => Step::Restoring,
        _ => Step::Releasing,
    };
    let (failure, message) = (Some(failure), Some(why));
    Action::Store(Box::new(Recycle { step, step_since: now, failure, message, ..recycle }))
}

fn timed_out(snapshot: &Snapshot, waited_for: &str, now: Timestamp) -> Option<Action> {
    let timeout = snapshot.settings.timeout;
    (snapshot.lasted(now) >= timeout).then(|| {
        let why = messages::timed_out(timeout, waited_for);
        give_up(snapshot, RecycleFailure::TimedOut, why, now)
    })
}

/// How long the group may be unknown before the step is given up.
fn unknown_timeout(snapshot: &Snapshot) -> Duration {
    let Settings { timeout, drain_timeout, .. } = snapshot.settings;
    let mut instances = snapshot.recycle.instances.iter();
    let drains = instances.any(|instance| instance.state == InstanceState::Draining);
    // A drain makes no progress that is stored.
    if drains { timeout.max(drain_timeout) } else { timeout }
}

fn wait_or_give_up(snapshot: &Snapshot, why: &str, now: Timestamp) -> Action {
    timed_out(snapshot, why, now).unwrap_or_else(|| {
        let left = snapshot.settings.timeout.saturating_sub(snapshot.lasted(now));
        Action::Wait { pause: snapshot.settings.poll.min(left), why: why.to_owned() }
    })
}

fn wait(snapshot: &Snapshot, why: &str) -> Action {
    Action::Wait { pause: snapshot.settings.poll, why: why.to_owned() }
}

#[cfg(test)]
mod faults;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

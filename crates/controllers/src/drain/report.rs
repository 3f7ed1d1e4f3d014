//! Reports a drain: the condition `Drained`, and an Event when it reaches a new step.

use std::collections::HashMap;

use jiff::Timestamp;
use machinist_api::names::CONDITION_DRAINED;
use machinist_domain::conditions::{Condition, whole_seconds};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::observed::Observed;
use machinist_domain::report::{EventNote, EventReason};

use super::plan::{CordonOutcome, Outcome, Plan};
use super::snapshot::View;
use super::{Attempt, Limit, Pod, PodAction, Step, messages};

const ACTION: &str = "Drain";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainReport {
    pub step: Step,
    /// The condition `Drained`; `None` if it stays because the next reconcile follows at once or something is unread.
    pub condition: Option<Condition>,
    pub events: Vec<EventNote>,
}

pub fn report(view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) -> DrainReport {
    let attempts = attempts_after(view, plan, outcome, now);
    let step = step_after(view, plan, outcome, &attempts, now);
    let message = message(view, plan, outcome, step, &attempts, now);
    let message = with_limit(view, plan, step, message);
    let settled = view.subject.stored.is_some_and(|stored| stored.step.is_done());
    let cordoned = matches!(outcome.cordon, Some(CordonOutcome::Cordoned | CordonOutcome::DryRun));
    // The stored step stays until everything is read: a time limit may count from it.
    if settled || message.is_empty() || (step == Step::Cordoning && cordoned) {
        return DrainReport { step, condition: None, events: Vec::new() };
    }
    let events = events(view, step, &message);
    let condition = if step.is_done() {
        Condition::yes(CONDITION_DRAINED).because(step.as_str(), message)
    } else {
        Condition::no(CONDITION_DRAINED, step.severity(), step.as_str(), message)
    };
    DrainReport { step, condition: Some(condition), events }
}

/// The refused evictions after a reconcile, without pods that are terminating by now.
pub(super) fn attempts_after(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> HashMap<Uid, Attempt> {
    let forced = plan.force.is_some();
    let pods = view.pods.present().into_iter().flatten();
    let mut attempts: HashMap<_, _> = pods
        .filter(|pod| forced || pod.termination.is_none())
        .filter_map(|pod| view.attempts.get_key_value(&pod.uid))
        .map(|(uid, attempt)| (uid.clone(), attempt.clone()))
        .collect();
    for (uid, failure) in &outcome.refused {
        let attempt = Attempt::after(view.attempts.get(uid), forced, failure, now);
        attempts.insert(uid.clone(), attempt);
    }
    for uid in &outcome.accepted {
        attempts.remove(uid);
    }
    attempts
}

/// The step after the effects: only now is it known which evictions are refused.
fn step_after(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    attempts: &HashMap<Uid, Attempt>,
    now: Timestamp,
) -> Step {
    let all_evicted = || {
        let mut pods = view.actions(now).filter(|(_, action)| *action == PodAction::Evict);
        pods.all(|(pod, _)| outcome.accepted.contains(&pod.uid))
    };
    match (plan.step, &outcome.cordon) {
        (Step::Cordoning, Some(CordonOutcome::Blocked(_))) => Step::WaitingForControlPlane,
        (Step::Evicting, _) if !attempts.is_empty() => Step::EvictionBlocked,
        (Step::Evicting, _) if all_evicted() => Step::WaitingForPods,
        (step, _) => step,
    }
}

/// The message; empty if something is unread.
fn message(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    step: Step,
    attempts: &HashMap<Uid, Attempt>,
    now: Timestamp,
) -> String {
    match step {
        Step::WaitingForHooks => messages::waiting_for_hooks(&view.subject.hooks),
        Step::WaitingForControlPlane => {
            messages::waiting_for_control_plane(match &outcome.cordon {
                Some(CordonOutcome::Blocked(peers)) => peers,
                _ => &view.cordoned_peers,
            })
        }
        Step::Cordoning => match &outcome.cordon {
            Some(CordonOutcome::Failed(failure)) => messages::not_cordoned(&failure.message),
            _ => messages::CORDONING.to_owned(),
        },
        Step::Evicting | Step::EvictionBlocked | Step::WaitingForPods | Step::Forcing => {
            pods_left(view, attempts, now)
        }
        Step::WaitingForVolumes if view.volumes == Observed::NotAsked => String::new(),
        Step::WaitingForVolumes | Step::VolumesLeft => match &view.volumes {
            Observed::Unknown(failure) => messages::volumes_unknown(&failure.message),
            Observed::NotAsked | Observed::Absent => messages::VOLUMES_NOT_LISTED.to_owned(),
            Observed::Present(volumes) if step == Step::WaitingForVolumes => {
                messages::waiting_for_volumes(volumes)
            }
            Observed::Present(volumes) => messages::volumes_attached(volumes),
        },
        Step::CannotRead => cannot_read(view),
        Step::Skipped if view.subject.excluded => messages::excluded(),
        Step::Skipped => messages::NO_NODE.to_owned(),
        Step::NodeGone => messages::NODE_GONE.to_owned(),
        Step::Succeeded => messages::drained(&left_behind(view, now)),
        Step::Forced => {
            let left: Vec<_> = view.blocking(now).map(|pod| &pod.key).collect();
            messages::forced(plan.force, view.limit(), &left)
        }
    }
}

/// Says when the drain is forced, if its time counts. The time is fixed, so that the message does not change.
fn with_limit(view: &View, plan: &Plan, step: Step, message: String) -> String {
    let waits = step.moves_pods() || step == Step::CannotRead;
    let forced = view.subject.forced || plan.force.is_some();
    if message.is_empty() || !waits || forced {
        return message;
    }
    match (&view.subject.limit, view.forced_at()) {
        (Limit::Invalid(value), _) => messages::never_forced(&message, value),
        (_, Some(at)) => messages::forced_at(&message, whole_seconds(at)),
        (_, None) => message,
    }
}

fn pods_left(view: &View, attempts: &HashMap<Uid, Attempt>, now: Timestamp) -> String {
    let why = |pod: &Pod| attempts.get(&pod.uid).map_or("", |attempt| &*attempt.why);
    let mut pods: Vec<_> = view.blocking(now).map(|pod| (&pod.key, why(pod))).collect();
    pods.sort_by_key(|(name, why)| (why.is_empty(), *name));
    messages::pods_left(&pods)
}

fn cannot_read(view: &View) -> String {
    match (&view.node, &view.pods, &view.orphaned) {
        (Observed::Unknown(failure), _, _) => failure.message.clone(),
        (_, Observed::Unknown(failure), _) => messages::pods_unreadable(&failure.message),
        (_, _, Observed::Unknown(failure)) => messages::daemon_sets_unreadable(&failure.message),
        _ => String::new(),
    }
}

/// A drain without a Node is skipped, so there is one.
fn node_name(view: &View) -> &str {
    view.subject.node_ref.as_ref().map_or("", |node| &*node.name)
}

/// Pods of an unreachable node that are left on it.
fn left_behind(view: &View, now: Timestamp) -> Vec<&ObjectKey> {
    let ignored = view.actions(now).filter(|(_, action)| *action == PodAction::Ignore);
    ignored.filter(|(pod, _)| !pod.finished).map(|(pod, _)| &pod.key).collect()
}

/// Events for a new step. On the first reconcile of this process they are repeated, because another process
/// may have died before it wrote them; the same Event is not written twice.
fn events(view: &View, step: Step, message: &str) -> Vec<EventNote> {
    let before = view.subject.stored.filter(|_| !view.first_reconcile).map(|stored| stored.step);
    if before == Some(step) {
        return Vec::new();
    }
    let mut events = Vec::new();
    // Until its volumes could be read, nothing is known to be in the way.
    let is_unread = step == Step::WaitingForVolumes && view.volumes.present().is_none();
    if step.moves_pods()
        && !is_unread
        && !before.is_some_and(|before| before.moves_pods() || before == Step::CannotRead)
    {
        let draining = messages::draining(node_name(view));
        events.push(EventNote::normal(EventReason::DrainProceeds, ACTION, draining));
    }
    let normal = |reason| EventNote::normal(reason, ACTION, message);
    let warning = |reason| EventNote::warning(reason, ACTION, message);
    let event = match step {
        Step::Evicting | Step::WaitingForPods | Step::WaitingForVolumes | Step::Forcing => {
            return events;
        }
        Step::WaitingForHooks => normal(EventReason::DrainBlocked),
        Step::WaitingForControlPlane => normal(EventReason::DrainRequeued),
        Step::Cordoning | Step::EvictionBlocked | Step::CannotRead => {
            warning(EventReason::DrainRequeued)
        }
        Step::Skipped => normal(EventReason::DrainSkipped),
        Step::NodeGone | Step::Succeeded => normal(EventReason::DrainSucceeded),
        Step::VolumesLeft | Step::Forced => warning(EventReason::DrainForced),
    };
    events.push(event);
    events
}

#[cfg(test)]
mod tests;

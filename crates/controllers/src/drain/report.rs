//! What a drain has to say: the condition `Drained`, and an Event where something new is to be told.
//!
//! Words do not change while nothing changes: a message has neither times nor counts of attempts in it, and names a few pods in a fixed order.

use std::collections::HashMap;
use std::fmt::Display;

use super::blockers::{Blocker, sentence};
use super::{Attempt, Pod, PodAction, Step};
use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_EXCLUDE_DRAINING, ANNOTATION_FORCE_DELETION, CONDITION_DRAINED,
};
use machinist_domain::conditions::Condition;
use machinist_domain::key::Uid;
use machinist_domain::report::{EventNote, EventReason, EventType};

use super::plan::{CordonOutcome, Outcome, Plan};
use super::snapshot::{Force, Sight, View};

/// What a drain has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainReport {
    /// Where the drain is now.
    pub step: Step,
    /// The condition `Drained`; `None` where it stays as it is, because the next pass follows at once and knows more.
    pub condition: Option<Condition>,
    /// What is new.
    pub events: Vec<EventNote>,
}

/// Says what came of a pass.
pub fn report(view: &View, plan: &Plan, outcome: &Outcome, now: Timestamp) -> DrainReport {
    let attempts = attempts_after(view, plan, outcome, now);
    let step = step_after(view, plan, outcome, &attempts, now);
    let message = message(view, plan, outcome, step, &attempts, now);
    let settled = view.subject.stored.is_some_and(|stored| stored.step.is_done());
    let cordoned = matches!(outcome.cordon, Some(CordonOutcome::Cordoned | CordonOutcome::DryRun));
    if settled || (step == Step::Cordoning && cordoned) {
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

/// What is known of refused evictions after a pass. Who is on the way out is no longer refused anything.
pub(super) fn attempts_after(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    now: Timestamp,
) -> HashMap<Uid, Attempt> {
    let forced = plan.force.is_some();
    let pods = view.pods.known().into_iter().flatten();
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

/// The step after what was done: only now is it known who refuses to go.
fn step_after(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    attempts: &HashMap<Uid, Attempt>,
    now: Timestamp,
) -> Step {
    match (plan.step, &outcome.cordon) {
        (Step::Cordoning, Some(CordonOutcome::Blocked(_))) => Step::WaitingForControlPlane,
        (Step::Evicting, _) if !attempts.is_empty() => Step::EvictionBlocked,
        (Step::Evicting, _) if untried(view, outcome, now).next().is_none() => Step::WaitingForPods,
        (step, _) => step,
    }
}

/// Pods that nobody has asked to go yet.
fn untried<'a>(
    view: &'a View,
    outcome: &'a Outcome,
    now: Timestamp,
) -> impl Iterator<Item = &'a Pod> {
    let evicted =
        view.actions(now).filter(|(_, action)| *action == PodAction::Evict).map(|(pod, _)| pod);
    evicted.filter(|pod| !outcome.accepted.contains(&pod.uid))
}

fn message(
    view: &View,
    plan: &Plan,
    outcome: &Outcome,
    step: Step,
    attempts: &HashMap<Uid, Attempt>,
    now: Timestamp,
) -> String {
    match step {
        Step::WaitingForHooks => {
            let hooks: Vec<_> = view
                .subject
                .hooks
                .iter()
                .map(|hook| Blocker { name: &hook.name, why: &hook.owner })
                .collect();
            format!("waits for preDrain hooks: {}", sentence(&hooks))
        }
        Step::WaitingForControlPlane => {
            let peers = match &outcome.cordon {
                Some(CordonOutcome::Blocked(peers)) => peers,
                _ => &view.cordoned_peers,
            };
            let list = sentence(&slow(peers));
            format!("one control-plane node is drained at a time, and {list} is cordoned")
        }
        Step::Cordoning => match &outcome.cordon {
            Some(CordonOutcome::Failed(failure)) => {
                format!("the node cannot be cordoned: {}", failure.message)
            }
            _ => "the node is being cordoned".to_owned(),
        },
        Step::Evicting | Step::EvictionBlocked | Step::WaitingForPods | Step::Forcing => {
            in_the_way(view, attempts, now)
        }
        Step::WaitingForVolumes | Step::VolumesLeft => volumes(view),
        Step::CannotLook => cannot_look(view),
        Step::Skipped if view.subject.excluded => {
            format!("not drained: the machine has {ANNOTATION_EXCLUDE_DRAINING}")
        }
        Step::Skipped => "not drained: the machine has no node".to_owned(),
        Step::NodeGone => "the node does not exist any more".to_owned(),
        Step::Succeeded => match left_behind(view, now) {
            left if left.is_empty() => "the node is drained".to_owned(),
            left => format!("the node is drained; it is unreachable, so nobody waited for {left}"),
        },
        Step::Forced => {
            let why = match plan.force {
                Some(Force::TimedOut) => "the drain took too long".to_owned(),
                Some(Force::Asked) | None => {
                    format!("the machine has {ANNOTATION_FORCE_DELETION}")
                }
            };
            let there = holding_up(view, now).map(|pod| &pod.key).collect::<Vec<_>>();
            match sentence(&slow(&there)) {
                left if left.is_empty() => format!("nobody is waited for: {why}"),
                left => format!("nobody is waited for: {why}; still there: {left}"),
            }
        }
    }
}

fn slow<N: Display>(names: &[N]) -> Vec<Blocker<'static, &N>> {
    names.iter().map(|name| Blocker { name, why: "" }).collect()
}

fn holding_up(view: &View, now: Timestamp) -> impl Iterator<Item = &Pod> {
    view.actions(now).filter(|(_, action)| action.blocks_drain()).map(|(pod, _)| pod)
}

/// Those who refuse to go first, then those who take their time.
fn in_the_way(view: &View, attempts: &HashMap<Uid, Attempt>, now: Timestamp) -> String {
    let mut pods: Vec<_> = holding_up(view, now)
        .map(|pod| Blocker {
            name: &pod.key,
            why: attempts.get(&pod.uid).map_or("", |attempt| &*attempt.why),
        })
        .collect();
    pods.sort_by_key(|blocker| (blocker.why.is_empty(), blocker.name));
    let count = match pods.len() {
        1 => "1 pod is".to_owned(),
        many => format!("{many} pods are"),
    };
    format!("{count} still on the node: {}", sentence(&pods))
}

fn volumes(view: &View) -> String {
    match &view.volumes {
        Sight::Unknown(failure) => {
            format!("nobody knows which volumes are attached: {}", failure.message)
        }
        Sight::NotAsked => "nobody knows which volumes are attached".to_owned(),
        Sight::Known(volumes) => {
            format!("volumes are still attached: {}", sentence(&slow(volumes)))
        }
    }
}

fn cannot_look(view: &View) -> String {
    if let Sight::Unknown(failure) = &view.node {
        return format!("the node cannot be looked at: {}", failure.message);
    }
    if let Sight::Unknown(failure) = &view.pods {
        return format!("the pods of the node cannot be listed: {}", failure.message);
    }
    match &view.orphaned {
        Sight::Unknown(failure) => {
            format!("the DaemonSets of the node's pods cannot be read: {}", failure.message)
        }
        Sight::NotAsked | Sight::Known(_) => "nobody has looked yet".to_owned(),
    }
}

/// Pods of an unreachable node that are still there.
fn left_behind(view: &View, now: Timestamp) -> String {
    let left =
        view.actions(now).filter(|(pod, action)| *action == PodAction::Ignore && !pod.finished);
    let left: Vec<_> = left.map(|(pod, _)| &pod.key).collect();
    sentence(&slow(&left))
}

/// What is new since the condition was written. What is only still so has been said, unless the process that wanted to say it died in between:
/// who does not know says it again, and the same Event is not written twice.
fn events(view: &View, step: Step, message: &str) -> Vec<EventNote> {
    let before = view.subject.stored.filter(|_| !view.first_reconcile).map(|stored| stored.step);
    if before == Some(step) {
        return Vec::new();
    }
    let note = |event_type, reason, note: &str| EventNote {
        event_type,
        reason,
        action: "Drain",
        note: note.to_owned(),
    };
    let mut events = Vec::new();
    if step.moves_pods()
        && !before.is_some_and(|before| before.moves_pods() || before == Step::CannotLook)
    {
        events.push(note(
            EventType::Normal,
            EventReason::DrainProceeds,
            "the node is being drained",
        ));
    }
    let last = match step {
        Step::WaitingForHooks => Some((EventType::Normal, EventReason::DrainBlocked)),
        Step::WaitingForControlPlane => Some((EventType::Normal, EventReason::DrainRequeued)),
        Step::Cordoning | Step::EvictionBlocked | Step::CannotLook => {
            Some((EventType::Warning, EventReason::DrainRequeued))
        }
        Step::Evicting | Step::WaitingForPods | Step::WaitingForVolumes | Step::Forcing => None,
        Step::Skipped => Some((EventType::Normal, EventReason::DrainSkipped)),
        Step::NodeGone | Step::Succeeded => Some((EventType::Normal, EventReason::DrainSucceeded)),
        Step::VolumesLeft | Step::Forced => Some((EventType::Warning, EventReason::DrainForced)),
    };
    events.extend(last.map(|(event_type, reason)| note(event_type, reason, message)));
    events
}

#[cfg(test)]
mod tests;

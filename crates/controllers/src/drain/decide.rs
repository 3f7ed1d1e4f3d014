//! From what a drain sees to its next step: what to look at first, and what to do then.
//!
//! One step per pass: nothing here waits. The order of the questions is the order of a drain: hooks, whether there is anything to drain,
//! one control-plane node at a time, cordon, pods, volumes.

use std::time::Duration;

use super::pod_action::UNREACHABLE_GRACE;
use super::{Mark, Pod, PodAction, Step};
use jiff::Timestamp;
use machinist_domain::retry::Category;

use super::plan::{Effect, Plan, Query, Removal};
use super::snapshot::{Force, Node, Sight, View};

/// How many pods are asked to go in one pass: enough for most nodes, and few enough to keep no worker from the other machines.
pub const PODS_PER_RECONCILE: usize = 64;

/// How often the removal of a pod by force is tried before it is left behind.
pub const FORCE_TRIES: u32 = 3;

/// What must be looked at before [`decide`] knows enough; `None` when it does.
pub fn next_query(view: &View, now: Timestamp) -> Option<Query> {
    if settled(view).is_some() || before_the_node(view).is_some() {
        return None;
    }
    let node = match &view.node {
        Sight::NotAsked => return Some(Query::Node),
        Sight::Unknown(_) | Sight::Known(None) => return None,
        Sight::Known(Some(node)) => node,
    };
    let force = view.force(now);
    if !node.is_prepared() && force.is_none() {
        return None;
    }
    if view.pods == Sight::NotAsked {
        return Some(Query::Pods);
    }
    let empty =
        view.pods.known().is_some() && !view.actions(now).any(|(_, action)| action.blocks_drain());
    if !empty || force.is_some() {
        return None;
    }
    // Whether a DaemonSet lives matters only for the pods that are left at the end.
    let daemons = || view.actions(now).any(|(pod, _)| pod.daemon_set.is_some());
    if view.orphaned == Sight::NotAsked && daemons() {
        return Some(Query::DaemonSets);
    }
    let sure = !matches!(view.orphaned, Sight::Unknown(_));
    (sure && view.volumes == Sight::NotAsked).then_some(Query::Volumes)
}

/// Decides. Everything that [`next_query`] asks for must have been looked at.
pub fn decide(view: &View, now: Timestamp) -> Plan {
    if let Some(step) = settled(view).or_else(|| before_the_node(view)) {
        // A change of the machine brings us back.
        return Plan::at(step, None);
    }
    let node = match &view.node {
        Sight::NotAsked | Sight::Unknown(_) => {
            return Plan::at(Step::CannotLook, Some(view.timings.poll));
        }
        Sight::Known(None) => return Plan::at(Step::NodeGone, None),
        Sight::Known(Some(node)) => node,
    };
    if let Some(force) = view.force(now) {
        return by_force(view, node, force, now);
    }
    if !node.is_prepared() {
        return prepare(view, node, now);
    }
    let mut plan = empty_the_node(view, node, now);
    // Nothing that is waited for is waited for longer than the drain may take.
    if let (Some(again), Some(left)) = (&mut plan.again, view.time_left(now)) {
        *again = (*again).min(left);
    }
    plan
}

/// The step at which the drain ended, if it did.
fn settled(view: &View) -> Option<Step> {
    view.subject.stored.map(|stored| stored.step).filter(|step| step.is_done())
}

/// What can be said before anybody looks at the Node. Hooks come first, also where nothing is going to be drained: whoever put one there
/// wants to know that the machine goes.
fn before_the_node(view: &View) -> Option<Step> {
    let subject = &view.subject;
    if !subject.hooks.is_empty() {
        Some(Step::WaitingForHooks)
    } else if subject.excluded || subject.node_ref.is_none() {
        Some(Step::Skipped)
    } else {
        None
    }
}

fn prepare(view: &View, node: &Node, now: Timestamp) -> Plan {
    if node.control_plane && !node.cordoned && !view.cordoned_peers.is_empty() {
        return Plan::at(Step::WaitingForControlPlane, Some(view.timings.poll));
    }
    let effects = vec![Effect::Cordon(mark(node, now))];
    let pause = view.timings.poll;
    Plan { effects, pause, ..Plan::at(Step::Cordoning, Some(Duration::ZERO)) }
}

/// A cordon that was taken off in the middle of a drain does not make the drain younger.
fn mark(node: &Node, now: Timestamp) -> Mark {
    node.mark.unwrap_or(Mark { started: now, cordoned: !node.cordoned })
}

fn empty_the_node(view: &View, node: &Node, now: Timestamp) -> Plan {
    let timings = &view.timings;
    if matches!(view.pods, Sight::NotAsked | Sight::Unknown(_)) {
        return Plan::at(Step::CannotLook, Some(timings.drain_poll));
    }
    let in_the_way: Vec<_> =
        view.actions(now).filter(|(_, action)| action.blocks_drain()).collect();
    if in_the_way.is_empty() {
        return match &view.orphaned {
            Sight::Unknown(_) => Plan::at(Step::CannotLook, Some(timings.drain_poll)),
            Sight::NotAsked | Sight::Known(_) => wait_for_volumes(view, now),
        };
    }
    let grace = node.unreachable.then_some(UNREACHABLE_GRACE);
    let (mut due, mut next_try) = (Vec::new(), None);
    for (pod, _) in in_the_way.iter().filter(|(_, action)| *action == PodAction::Evict) {
        match view.attempts.get(&pod.uid).map(|attempt| attempt.next(&pod.uid, timings)) {
            Some(later) if later > now => {
                next_try = Some(next_try.map_or(later, |sooner: Timestamp| sooner.min(later)));
            }
            _ => due.push(*pod),
        }
    }
    // The important ones first: they are the first to find a new place.
    due.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.key.cmp(&b.key)));
    let more = due.len() > PODS_PER_RECONCILE;
    let waits = in_the_way.iter().any(|(_, action)| *action == PodAction::Wait) || !due.is_empty();
    let effects =
        due.into_iter().take(PODS_PER_RECONCILE).map(|pod| Effect::Evict(removal(pod, grace)));
    let next_try = next_try
        .map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
        .filter(|pause| !waits || *pause < timings.drain_poll);
    let again = if more { Duration::ZERO } else { next_try.unwrap_or(timings.drain_poll) };
    let (effects, pause) = (effects.collect(), timings.drain_poll);
    Plan { effects, pause, ..Plan::at(Step::Evicting, Some(again)) }
}

fn wait_for_volumes(view: &View, now: Timestamp) -> Plan {
    if view.volumes.known().is_some_and(Vec::is_empty) {
        return Plan::at(Step::Succeeded, None);
    }
    let stored = view.subject.stored.filter(|stored| stored.step == Step::WaitingForVolumes);
    // The time is that of the last change: as long as volumes come off, it begins anew.
    let waited = stored.and_then(|stored| stored.since).map_or(Duration::ZERO, |since| {
        Duration::try_from(now.duration_since(since)).unwrap_or_default()
    });
    let left = view.timings.volume_detach.saturating_sub(waited);
    if left.is_zero() {
        return Plan::at(Step::VolumesLeft, None);
    }
    Plan::at(Step::WaitingForVolumes, Some(view.timings.drain_poll.min(left)))
}

/// Nobody is asked and nothing is waited for; only pods that cannot be deleted are tried a few times.
fn by_force(view: &View, node: &Node, force: Force, now: Timestamp) -> Plan {
    let (tries, pause) = (FORCE_TRIES, view.timings.drain_poll);
    if let Sight::Unknown(failure) = &view.pods
        && matches!(failure.category, Category::Unavailable | Category::Throttled)
    {
        // Soon it will be known. Where it will not, the machine goes all the same.
        return Plan { force: Some(force), ..Plan::at(Step::CannotLook, Some(pause)) };
    }
    let mut effects = Vec::new();
    let mut left = 0;
    for (pod, _) in view.actions(now).filter(|(_, action)| action.blocks_drain()) {
        let dropped = pod.termination.is_some_and(|end| end.grace == Some(0));
        let attempt = view.attempts.get(&pod.uid).filter(|attempt| attempt.force_failures > 0);
        if dropped || attempt.is_some_and(|attempt| attempt.force_failures >= tries) {
            continue;
        }
        left += 1;
        let due = attempt
            .is_none_or(|attempt| attempt.at.checked_add(pause).is_ok_and(|again| again <= now));
        if due && effects.len() < PODS_PER_RECONCILE {
            effects.push(Effect::Delete(removal(pod, Some(0))));
        }
    }
    let plan = match left {
        0 => Plan::at(Step::Forced, None),
        _ if effects.is_empty() => Plan::at(Step::Forcing, Some(pause)),
        _ => Plan::at(Step::Forcing, Some(Duration::ZERO)),
    };
    if left > 0 && !node.cordoned {
        effects.insert(0, Effect::Cordon(mark(node, now)));
    }
    Plan { force: Some(force), effects, pause, ..plan }
}

fn removal(pod: &Pod, grace: Option<u32>) -> Removal {
    Removal { pod: pod.key.clone(), uid: pod.uid.clone(), grace }
}

#[cfg(test)]
pub(super) mod tests;

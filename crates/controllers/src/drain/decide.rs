//! The next step of a drain, in this order: hooks, Node, one control-plane node at a time, cordon, pods, volumes.

use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::observed::Observed;
use machinist_domain::retry::Category;

use super::plan::{Plan, Removal};
use super::pod_action::UNREACHABLE_GRACE;
use super::snapshot::{Force, View, is_unreachable};
use super::{Mark, Pod, PodAction, Step};
use crate::kinds::Node;

/// The most pods that one reconcile evicts. It bounds the time of a worker.
const PODS_PER_RECONCILE: usize = 64;

/// The longest poll interval for pods, relative to the first one.
const LONGEST_POLL: u32 = 6;

/// How often a pod is deleted by force before it is left behind.
const FORCE_TRIES: u32 = 3;

/// Decides. What became necessary after `observe`, because time has passed, is read by the next reconcile.
pub fn decide(view: &View, now: Timestamp) -> Plan {
    let settled = view.subject.stored.map(|stored| stored.step).filter(|step| step.is_done());
    if let Some(step) = settled.or_else(|| before_the_node(view)) {
        return Plan::at(step, None);
    }
    let node = match &view.node {
        Observed::NotAsked | Observed::Unknown(_) => {
            return Plan::at(Step::CannotRead, Some(view.timings.poll));
        }
        Observed::Absent => return Plan::at(Step::NodeGone, None),
        Observed::Present(node) => node,
    };
    if let Some(force) = view.force(now) {
        return by_force(view, node, force, now);
    }
    if !view.has_begun(node) {
        return prepare(view, node, now);
    }
    let mut plan = empty_the_node(view, node, now);
    if let (Some(again), Some(left)) = (&mut plan.again, view.time_left(now)) {
        *again = (*again).min(left);
    }
    plan
}

/// Steps that do not need the Node. Hooks come first, even if nothing is drained: their owners must see the deletion.
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
    if node.is_control_plane() && !node.unschedulable && !view.cordoned_peers.is_empty() {
        return Plan::at(Step::WaitingForControlPlane, Some(view.timings.poll));
    }
    let (cordon, pause) = (Some(mark(node, now)), view.timings.poll);
    Plan { cordon, pause, ..Plan::at(Step::Cordoning, Some(Duration::ZERO)) }
}

/// An uncordon during a drain does not restart its time limit.
fn mark(node: &Node, now: Timestamp) -> Mark {
    Mark::of(node).unwrap_or(Mark { started: now, cordoned: !node.unschedulable })
}

fn empty_the_node(view: &View, node: &Node, now: Timestamp) -> Plan {
    let timings = &view.timings;
    let cannot_read = Plan::at(Step::CannotRead, Some(timings.drain_poll));
    if matches!(view.pods, Observed::NotAsked | Observed::Unknown(_)) {
        return cannot_read;
    }
    let in_the_way: Vec<_> =
        view.actions(now).filter(|(_, action)| action.blocks_drain()).collect();
    if in_the_way.is_empty() {
        return match &view.orphaned {
            Observed::NotAsked if view.has_daemons() => cannot_read,
            Observed::Unknown(_) => cannot_read,
            _ => wait_for_volumes(view, now),
        };
    }
    let grace = is_unreachable(node).then_some(UNREACHABLE_GRACE);
    let (mut due, mut next_try) = (Vec::new(), None);
    for (pod, _) in in_the_way.iter().filter(|(_, action)| *action == PodAction::Evict) {
        match view.attempts.get(&pod.uid).map(|attempt| attempt.next(&pod.uid, timings)) {
            Some(later) if later > now => {
                next_try = Some(next_try.map_or(later, |sooner: Timestamp| sooner.min(later)));
            }
            _ => due.push(*pod),
        }
    }
    // High priority first: these pods are scheduled first, too.
    due.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.key.cmp(&b.key)));
    let more = due.len() > PODS_PER_RECONCILE;
    let waits = in_the_way.iter().any(|(_, action)| *action == PodAction::Wait) || !due.is_empty();
    let due = due.into_iter().take(PODS_PER_RECONCILE);
    let pods: Vec<_> = due.map(|pod| removal(pod, grace)).collect();
    let poll = if pods.is_empty() { poll(view, now) } else { timings.drain_poll };
    let next_try = next_try
        .map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
        .filter(|pause| !waits || *pause < poll);
    let again = if more { Duration::ZERO } else { next_try.unwrap_or(poll) };
    Plan { pods, pause: timings.drain_poll, ..Plan::at(Step::Evicting, Some(again)) }
}

/// When to list the pods again: the longer none of them has ended, the later. Each one that ends changes the message.
fn poll(view: &View, now: Timestamp) -> Duration {
    let shortest = view.timings.drain_poll;
    let stored = view.subject.stored.filter(|stored| stored.step.moves_pods());
    let waited = stored.and_then(|stored| stored.since).map(|since| now.duration_since(since));
    let waited = waited.and_then(|waited| Duration::try_from(waited).ok()).unwrap_or_default();
    (waited / 2).clamp(shortest, LONGEST_POLL * shortest)
}

fn wait_for_volumes(view: &View, now: Timestamp) -> Plan {
    if view.volumes.present().is_some_and(Vec::is_empty) {
        return Plan::at(Step::Succeeded, None);
    }
    let stored = view.subject.stored.filter(|stored| stored.step == Step::WaitingForVolumes);
    // Counts from the last change of the message, so each detached volume restarts it.
    let waited = stored.and_then(|stored| stored.since).map_or(Duration::ZERO, |since| {
        Duration::try_from(now.duration_since(since)).unwrap_or_default()
    });
    let left = view.timings.volume_detach.saturating_sub(waited);
    if left.is_zero() {
        return Plan::at(Step::VolumesLeft, None);
    }
    Plan::at(Step::WaitingForVolumes, Some(view.timings.drain_poll.min(left)))
}

/// Deletes pods without eviction and does not wait; pods that cannot be deleted are retried a few times.
fn by_force(view: &View, node: &Node, force: Force, now: Timestamp) -> Plan {
    let (tries, pause) = (FORCE_TRIES, view.timings.drain_poll);
    let cannot_read = match &view.pods {
        Observed::NotAsked => true,
        // A transient error is retried; any other does not block a forced drain.
        Observed::Unknown(failure) => {
            matches!(failure.category, Category::Unavailable | Category::Throttled)
        }
        Observed::Absent | Observed::Present(_) => false,
    };
    if cannot_read {
        return Plan { force: Some(force), ..Plan::at(Step::CannotRead, Some(pause)) };
    }
    let mut pods = Vec::new();
    let mut left = 0;
    for pod in view.blocking(now) {
        let dropped = pod.termination.is_some_and(|end| end.grace == Some(0));
        let attempt = view.attempts.get(&pod.uid).filter(|attempt| attempt.force_failures > 0);
        if dropped || attempt.is_some_and(|attempt| attempt.force_failures >= tries) {
            continue;
        }
        left += 1;
        let due = attempt
            .is_none_or(|attempt| attempt.at.checked_add(pause).is_ok_and(|again| again <= now));
        if due && pods.len() < PODS_PER_RECONCILE {
            pods.push(removal(pod, Some(0)));
        }
    }
    let plan = match left {
        0 => Plan::at(Step::Forced, None),
        _ if pods.is_empty() => Plan::at(Step::Forcing, Some(pause)),
        _ => Plan::at(Step::Forcing, Some(Duration::ZERO)),
    };
    let cordon = (left > 0 && !node.unschedulable).then(|| mark(node, now));
    Plan { force: Some(force), cordon, pods, pause, ..plan }
}

fn removal(pod: &Pod, grace: Option<u32>) -> Removal {
    Removal { pod: pod.key.clone(), uid: pod.uid.clone(), grace }
}

#[cfg(test)]
pub(super) mod tests;

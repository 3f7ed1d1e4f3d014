//! Texts of a drain: the condition `Drained`, and its Events. A message does not change while nothing changes: its only
//! time is the fixed one of a forced drain, it has no counts of attempts, and names a few pods in a fixed order.

use std::fmt::Display;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_DRAIN_TIMEOUT, ANNOTATION_EXCLUDE_DRAINING, ANNOTATION_FORCE_DELETION,
};
use machinist_domain::messages::span;
use machinist_domain::texts;

use super::snapshot::Force;
use crate::kinds::Hook;

const NAMED: usize = 5;

const REASON_LENGTH: usize = 240;

pub(super) const CORDONING: &str = "Cordoning the node";
pub(super) const NO_NODE: &str = "Not drained: the Machine has no node";
pub(super) const NODE_GONE: &str = "The node does not exist";
pub(super) const VOLUMES_NOT_LISTED: &str = "VolumeAttachments were not listed yet";

texts! {
    pub(super) fn draining(node: &str) = "Draining node {node}; see condition Drained";
    pub(super) fn not_cordoned(error: &str) = "Cannot cordon the node: {error}";
    pub(super) fn volumes_unknown(error: &str) = "Cannot list attached volumes: {error}";
    pub(super) fn node_unreadable(node: &str, error: &str) = "Cannot read node {node}: {error}";
    pub(super) fn pods_unreadable(error: &str) = "Cannot list the pods of the node: {error}";
    pub(super) fn daemon_sets_unreadable(error: &str) =
        "Cannot read the DaemonSets of the node's pods: {error}";
    pub(super) fn node_undecodable(node: &str, error: &str) =
        "Cannot decode node {node}: {error}; correct the Node";
    pub(super) fn node_not_identified(node: &str) =
        "Cannot identify node {node}: it was registered again and has no provider ID yet";
    pub(super) fn forced_at(message: &str, at: Timestamp) = "{message}; the drain is forced at {at}";
    pub(super) fn never_forced(message: &str, value: &str) =
        "{message}; the drain is not forced: annotation {ANNOTATION_DRAIN_TIMEOUT} must be a duration such as 30m, \
         or never (got {value:?})";
    pub(super) fn excluded() = "Not drained: the Machine has annotation {ANNOTATION_EXCLUDE_DRAINING}";
}

pub(super) fn waiting_for_hooks(hooks: &[Hook]) -> String {
    let hooks: Vec<_> = hooks.iter().map(|hook| (&hook.name, &*hook.owner)).collect();
    format!("Waiting for preDrain hooks: {}", blockers(&hooks))
}

pub(super) fn waiting_for_control_plane<N: Display>(peers: &[N]) -> String {
    format!("Waiting for cordoned control-plane nodes (one is drained at a time): {}", names(peers))
}

pub(super) fn pods_left<N: Display>(pods: &[(N, &str)]) -> String {
    let count = match pods.len() {
        1 => "1 pod is".to_owned(),
        many => format!("{many} pods are"),
    };
    format!("{count} still on the node: {}", blockers(pods))
}

pub(super) fn waiting_for_volumes<N: Display>(volumes: &[N]) -> String {
    format!("{}; waiting for the storage driver", volumes_attached(volumes))
}

pub(super) fn volumes_attached<N: Display>(volumes: &[N]) -> String {
    format!("Volumes are still attached to the node: {}", names(volumes))
}

pub(super) fn drained<N: Display>(left: &[N]) -> String {
    if left.is_empty() {
        return "The node is drained".to_owned();
    }
    format!(
        "The node is drained; it is unreachable, so these pods were not waited for: {}",
        names(left)
    )
}

/// `limit`: how long the drain may take.
pub(super) fn forced<N: Display>(
    force: Option<Force>,
    limit: Option<Duration>,
    left: &[N],
) -> String {
    let why = match (force, limit) {
        (Some(Force::TimedOut), Some(limit)) => format!("after its timeout of {}", span(limit)),
        (Some(Force::TimedOut), None) => "after its timeout".to_owned(),
        (Some(Force::Asked) | None, _) => {
            format!("by annotation {ANNOTATION_FORCE_DELETION} of the Machine")
        }
    };
    if left.is_empty() {
        return format!("The drain was forced {why}");
    }
    format!("The drain was forced {why}; still on the node: {}", names(left))
}

fn names<N: Display>(names: &[N]) -> String {
    blockers(&names.iter().map(|name| (name, "")).collect::<Vec<_>>())
}

/// `a (why), b and 3 more`, in the order of the caller.
fn blockers<N: Display>(blockers: &[(N, &str)]) -> String {
    let one = |(name, why): &(N, &str)| match *why {
        "" => name.to_string(),
        why => format!("{name} ({})", why.chars().take(REASON_LENGTH).collect::<String>()),
    };
    let text = blockers.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ");
    match blockers.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{text} and {more} more"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn names_a_few_and_counts_the_rest() {
        assert_eq!(blockers::<&str>(&[]), "");
        assert_eq!(blockers(&[("ns/a", "budget b"), ("ns/c", "")]), "ns/a (budget b), ns/c");
        let many: Vec<_> = (0..8).map(|n| (n, "")).collect();
        assert_eq!(blockers(&many), "0, 1, 2, 3, 4 and 3 more");
        let long = "é".repeat(1000);
        let text = blockers(&[("ns/a", long.as_str())]);
        assert_eq!(text.matches('é').count(), REASON_LENGTH);
    }

    #[test]
    fn messages() {
        let hooks = [Hook { name: "backup".into(), owner: "team-a".into() }];
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        let (refused, slow) = (("ns/db-0", why), ("ns/web-1", ""));
        let (pods, empty) = (["ns/db-0", "ns/web-1"], [] as [&str; 0]);
        let (node, error) = ("worker-1", "the API server answered 403 Forbidden");
        let waiting = "condition Drained=False";
        let blocked = "condition Drained=False, Event Normal DrainBlocked";
        let queued = "condition Drained=False, Event Normal DrainRequeued";
        let retried = "condition Drained=False, Event Warning DrainRequeued";
        let skipped = "condition Drained=True, Event Normal DrainSkipped";
        let done = "condition Drained=True, Event Normal DrainSucceeded";
        let by_force = "condition Drained=True, Event Warning DrainForced";
        let texts = |text: &str| text.to_owned();
        let rows = [
            ("Event Normal", "DrainProceeds", draining(node)),
            (blocked, "WaitingForHooks", waiting_for_hooks(&hooks)),
            (queued, "WaitingForControlPlane", waiting_for_control_plane(&["master-1"])),
            ("status.recycles[].message", "", texts(CORDONING)),
            (retried, "Cordoning", not_cordoned(error)),
            (waiting, "Evicting", pods_left(&[slow])),
            (waiting, "Evicting", forced_at(&pods_left(&[slow]), Timestamp::UNIX_EPOCH)),
            (waiting, "Evicting", never_forced(&pods_left(&[slow]), "soon")),
            (retried, "EvictionBlocked", pods_left(&[refused, slow])),
            (waiting, "WaitingForPods", pods_left(&[slow; NAMED + 1])),
            (waiting, "Forcing", pods_left(&[refused, slow])),
            (waiting, "WaitingForVolumes", waiting_for_volumes(&["pv-1"])),
            (waiting, "WaitingForVolumes", volumes_unknown(error)),
            (waiting, "WaitingForVolumes", texts(VOLUMES_NOT_LISTED)),
            (retried, "CannotRead", node_unreadable(node, error)),
            (retried, "CannotRead", node_undecodable(node, "spec.taints: invalid type")),
            (retried, "CannotRead", node_not_identified(node)),
            (retried, "CannotRead", pods_unreadable(error)),
            (retried, "CannotRead", daemon_sets_unreadable(error)),
            (skipped, "Skipped", texts(NO_NODE)),
            (skipped, "Skipped", excluded()),
            (done, "NodeGone", texts(NODE_GONE)),
            (done, "Succeeded", drained(&empty)),
            (done, "Succeeded", drained(&pods)),
            (by_force, "VolumesLeft", volumes_attached(&["pv-1"])),
            (
                by_force,
                "Forced",
                forced(Some(Force::TimedOut), Some(Duration::from_mins(30)), &pods),
            ),
            (by_force, "Forced", forced(Some(Force::Asked), None, &empty)),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}

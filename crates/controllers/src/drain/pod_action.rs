use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::pod::{Pod, Termination};
use machinist_domain::key::ObjectKey;

/// The grace period, in seconds, of pods on an unreachable node. Zero would delete the object at once.
pub(super) const UNREACHABLE_GRACE: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodAction {
    /// Leave it: a mirror pod, or one that its DaemonSet would recreate.
    Skip,
    Evict,
    Wait,
    /// It terminates; do not wait: its containers have ended, or the node is unreachable.
    Ignore,
}

impl PodAction {
    pub(super) fn blocks_drain(self) -> bool {
        matches!(self, Self::Evict | Self::Wait)
    }
}

impl Pod {
    /// What a drain does about it; `orphaned` are DaemonSets that do not exist.
    pub(super) fn action(
        &self,
        unreachable: bool,
        orphaned: Option<&BTreeSet<ObjectKey>>,
        now: Timestamp,
    ) -> PodAction {
        let is_orphaned = |set| orphaned.is_some_and(|orphaned| orphaned.contains(set));
        let has_daemon_set = self.daemon_set.as_ref().is_some_and(|set| !is_orphaned(set));
        if self.mirror || (has_daemon_set && !self.finished) {
            return PodAction::Skip;
        }
        match self.termination {
            None => PodAction::Evict,
            Some(_) if self.finished => PodAction::Ignore,
            Some(termination) if unreachable => unreachable_action(termination, now),
            Some(_) => PodAction::Wait,
        }
    }
}

/// No kubelet reports the end of the pod, so it is not waited for beyond its grace period.
fn unreachable_action(termination: Termination, now: Timestamp) -> PodAction {
    let grace = Duration::from_secs(u64::from(UNREACHABLE_GRACE));
    let over = termination.ends.and_then(|ends| ends.checked_add(grace).ok());
    if over.is_some_and(|over| now > over) {
        PodAction::Ignore
    } else if termination.grace.is_some_and(|given| given > i64::from(UNREACHABLE_GRACE)) {
        // Another eviction shortens the grace period.
        PodAction::Evict
    } else {
        PodAction::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_domain::key::Uid;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod() -> Pod {
        Pod {
            key: ObjectKey::new("ns", "p"),
            uid: Uid("u".into()),
            mirror: false,
            daemon_set: None,
            finished: false,
            priority: 0,
            termination: None,
            claims: Box::default(),
        }
    }

    fn terminating(ends: i64, grace: i64) -> Pod {
        let termination = Termination { ends: Some(at(ends)), grace: Some(grace) };
        Pod { termination: Some(termination), ..pod() }
    }

    fn daemon(set: &str) -> Pod {
        Pod { daemon_set: Some(ObjectKey::new("ns", set)), ..pod() }
    }

    #[test]
    fn decides_the_action_of_every_kind_of_pod() {
        let orphaned = BTreeSet::from([ObjectKey::new("ns", "gone")]);
        let action = |pod: &Pod, unreachable| pod.action(unreachable, Some(&orphaned), at(100));
        let finished = |pod: Pod| Pod { finished: true, ..pod };
        let mirror = |pod: Pod| Pod { mirror: true, ..pod };
        let unreadable =
            Pod { termination: Some(Termination { ends: None, grace: None }), ..pod() };
        let cases = [
            ("plain", pod(), PodAction::Evict, PodAction::Evict),
            ("mirror", mirror(pod()), PodAction::Skip, PodAction::Skip),
            ("mirror, finished", mirror(finished(pod())), PodAction::Skip, PodAction::Skip),
            ("of a DaemonSet", daemon("alive"), PodAction::Skip, PodAction::Skip),
            (
                "of a DaemonSet, finished",
                finished(daemon("alive")),
                PodAction::Evict,
                PodAction::Evict,
            ),
            ("of a DaemonSet that is gone", daemon("gone"), PodAction::Evict, PodAction::Evict),
            ("finished", finished(pod()), PodAction::Evict, PodAction::Evict),
            (
                "finished, leaving",
                finished(terminating(90, 30)),
                PodAction::Ignore,
                PodAction::Ignore,
            ),
            ("leaving", terminating(120, 30), PodAction::Wait, PodAction::Evict),
            ("leaving, short grace", terminating(101, 1), PodAction::Wait, PodAction::Wait),
            ("leaving, just over", terminating(99, 30), PodAction::Wait, PodAction::Evict),
            ("leaving, long over", terminating(98, 30), PodAction::Wait, PodAction::Ignore),
            ("leaving, unreadable", unreadable, PodAction::Wait, PodAction::Wait),
        ];
        for (name, pod, on_reachable, on_unreachable) in cases {
            assert_eq!(action(&pod, false), on_reachable, "{name}");
            assert_eq!(action(&pod, true), on_unreachable, "{name}, unreachable");
        }
    }
}

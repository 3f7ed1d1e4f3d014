//! What becomes of a pod when its node is drained.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::pod::{Pod, Termination};
use crate::key::ObjectKey;

/// The grace, in seconds, that pods of an unreachable node get. Nobody there will use it, but zero would drop them without a word.
pub const UNREACHABLE_GRACE: u32 = 1;

/// What becomes of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It belongs to the node and goes with it: a mirror pod, or one that its DaemonSet would start again.
    Stays,
    /// It is to be evicted.
    Evict,
    /// It is on its way out, and the drain waits for it.
    Wait,
    /// It is on its way out, and nobody needs to wait: its containers have ended, or nobody can tell whether they have.
    Left,
}

impl Fate {
    /// Whether the node is not empty while this pod is on it.
    pub fn holds_up(self) -> bool {
        matches!(self, Self::Evict | Self::Wait)
    }
}

/// What decides about all pods of a node alike.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// Whether nothing is heard from the node.
    pub unreachable: bool,
    /// DaemonSets that are known not to exist any more. Whoever is not in here counts as alive.
    pub orphaned: &'a BTreeSet<ObjectKey>,
    /// The time.
    pub now: Timestamp,
}

impl Circumstances<'_> {
    /// What becomes of `pod`.
    pub fn fate(&self, pod: &Pod) -> Fate {
        let daemon_lives = pod.daemon_set.as_ref().is_some_and(|set| !self.orphaned.contains(set));
        if pod.mirror || (daemon_lives && !pod.finished) {
            return Fate::Stays;
        }
        match pod.termination {
            None => Fate::Evict,
            Some(_) if pod.finished => Fate::Left,
            Some(termination) if self.unreachable => self.unreachable_fate(termination),
            Some(_) => Fate::Wait,
        }
    }

    /// No kubelet will say that the pod has ended: it is waited for no longer than it was asked to go.
    fn unreachable_fate(&self, termination: Termination) -> Fate {
        let grace = Duration::from_secs(u64::from(UNREACHABLE_GRACE));
        let over = termination.ends.and_then(|ends| ends.checked_add(grace).ok());
        if over.is_some_and(|over| self.now > over) {
            Fate::Left
        } else if termination.grace.is_some_and(|given| given > i64::from(UNREACHABLE_GRACE)) {
            // Asking again with a shorter grace shortens it.
            Fate::Evict
        } else {
            Fate::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Uid;

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
    fn every_pod_has_its_fate() {
        let orphaned = BTreeSet::from([ObjectKey::new("ns", "gone")]);
        let reachable = Circumstances { unreachable: false, orphaned: &orphaned, now: at(100) };
        let unreachable = Circumstances { unreachable: true, ..reachable };
        let finished = |pod: Pod| Pod { finished: true, ..pod };
        let mirror = |pod: Pod| Pod { mirror: true, ..pod };
        let unreadable =
            Pod { termination: Some(Termination { ends: None, grace: None }), ..pod() };
        let cases = [
            ("plain", pod(), Fate::Evict, Fate::Evict),
            ("mirror", mirror(pod()), Fate::Stays, Fate::Stays),
            ("mirror, finished", mirror(finished(pod())), Fate::Stays, Fate::Stays),
            ("of a DaemonSet", daemon("alive"), Fate::Stays, Fate::Stays),
            ("of a DaemonSet, finished", finished(daemon("alive")), Fate::Evict, Fate::Evict),
            ("of a DaemonSet that is gone", daemon("gone"), Fate::Evict, Fate::Evict),
            ("finished", finished(pod()), Fate::Evict, Fate::Evict),
            ("finished, leaving", finished(terminating(90, 30)), Fate::Left, Fate::Left),
            ("leaving", terminating(120, 30), Fate::Wait, Fate::Evict),
            ("leaving, short grace", terminating(101, 1), Fate::Wait, Fate::Wait),
            ("leaving, just over", terminating(99, 30), Fate::Wait, Fate::Evict),
            ("leaving, long over", terminating(98, 30), Fate::Wait, Fate::Left),
            ("leaving, unreadable", unreadable, Fate::Wait, Fate::Wait),
        ];
        for (name, pod, on_reachable, on_unreachable) in cases {
            assert_eq!(reachable.fate(&pod), on_reachable, "{name}");
            assert_eq!(unreachable.fate(&pod), on_unreachable, "{name}, unreachable");
        }
    }
}

//! What the controller remembers. All of it can be lost: a clock that is ahead then delays a remediation once more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::{ObjectKey, Uid};
use parking_lot::Mutex;

use super::snapshot::{Member, NodeView, started};
use crate::kinds::MachineHealthCheck;

/// Longer than the time between two reconciles of a health check.
const MEMORY: Duration = Duration::from_hours(4);

/// Since when times that are in the future or missing have been known.
#[derive(Debug, Default)]
pub(super) struct FirstSeen(Mutex<ExpiringMap<(Uid, u64), Timestamp>>);

impl FirstSeen {
    /// Remembers those of a member that a health check reads, and returns them.
    pub(super) fn of(
        &self,
        check: &MachineHealthCheck,
        member: &Member,
        now: Timestamp,
        uptime: Duration,
    ) -> Vec<(Option<Timestamp>, Timestamp)> {
        let mut all = Vec::new();
        let mut add = |uid: &Uid, what: &str, time: Option<Timestamp>| {
            if time.is_none_or(|time| time > now) {
                let of = time.map_or_else(String::new, |time| time.to_string());
                let topic = (uid.clone(), fnv1a(format!("{what}@{of}").as_bytes()));
                all.push((time, self.touch(topic, now, uptime)));
            }
        };
        match (&member.machine, &member.node) {
            (Some(machine), NodeView::None) => {
                add(&machine.meta.uid, "started", Some(started(machine)));
            }
            (_, NodeView::Known(node)) => {
                for one in &node.conditions {
                    let state = &*one.state;
                    let mut rules = check.unhealthy_conditions.iter();
                    if rules.any(|rule| rule.kind == state.kind && rule.status == state.status) {
                        let what = format!("{}={}", state.kind, state.status);
                        add(&node.meta.uid, &what, one.since());
                    }
                }
            }
            _ => {}
        }
        all
    }

    fn touch(&self, topic: (Uid, u64), now: Timestamp, uptime: Duration) -> Timestamp {
        *self.0.lock().touch(topic, uptime, MEMORY, || now)
    }
}

/// Health checks that wait for Machines which they may not select.
pub(super) type Waiting = Arc<Mutex<HashSet<ObjectKey>>>;

#[cfg(test)]
mod tests {
    use super::super::samples::{at, check, machine, member, node};
    use super::*;

    #[test]
    fn a_time_in_the_future_counts_from_when_it_was_first_seen() {
        let (seen, uptime) = (FirstSeen::default(), Duration::from_secs(1));
        let check = check(&serde_json::json!({}));
        let ahead = "2027-01-01T00:00:00Z";
        let member =
            member(machine("m", &serde_json::json!({})), Some(node("m", "Unknown", ahead)));
        let of = |minute| seen.of(&check, &member, at(minute), uptime);
        let expected = vec![(Some(ahead.parse().unwrap()), at(0))];
        assert_eq!(of(0), expected);
        assert_eq!(of(5), expected, "it does not move");
        let past = Member {
            node: NodeView::Known(node("m", "Unknown", "2026-06-01T11:00:00Z")),
            ..member.clone()
        };
        assert!(seen.of(&check, &past, at(5), uptime).is_empty());
    }
}

//! The condition `MachinesReady`: whether the Machines of a set are ready, else the most frequent reason. While they
//! only start, it has no counts, so that it is not written for each of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use machinist_api::names::{
    CONDITION_MACHINES_READY, CONDITION_READY, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::Phase;

use super::super::decide::desired_replicas;
use super::super::hold::Hold;
use super::super::messages;
use super::super::snapshot::{Member, View};
use super::status::Changes;

/// As the reason of a failed Machine's condition `Ready`.
const FAILED: &str = "Failed";
const STARTING: &str = "Starting";
/// Its size is that of a move that goes on.
const HELD: &str = "Held";
const UNDECODABLE: &str = "Undecodable";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State<'a> {
    Ready,
    Starting,
    Blocked(Cause<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cause<'a> {
    reason: &'a str,
    message: &'a str,
}

/// The members after a reconcile.
struct Members<'a> {
    total: usize,
    starting: usize,
    blocked: Vec<Cause<'a>>,
}

pub(super) fn condition(view: &View, changes: Changes<'_>) -> Condition {
    let members = Members::of(view, changes);
    if let Some(cause) = members.most_frequent() {
        let mixed = members.blocked.iter().any(|other| other.reason != cause.reason);
        let (blocked, total) = (members.blocked.len(), members.total);
        let text = if cause.reason == FAILED && !mixed {
            messages::machines_failed(blocked, total, cause.message)
        } else {
            messages::machines_blocked(blocked, total, mixed, cause.reason, cause.message)
        };
        let no = Condition::no(CONDITION_MACHINES_READY, SEVERITY_WARNING, STARTING, text);
        return Condition { reason: Some(cause.reason.to_owned().into()), ..no };
    }
    let desired = desired_replicas(&view.set).ok();
    if desired.is_some_and(|desired| members.total != desired)
        && let Some(hold) = Hold::of(&view.set)
    {
        let text = messages::held(&hold);
        return Condition::no(CONDITION_MACHINES_READY, SEVERITY_INFO, HELD, text);
    }
    let missing = desired.is_some_and(|desired| members.total < desired);
    if missing || members.starting > 0 {
        let text = messages::MACHINES_STARTING;
        return Condition::no(CONDITION_MACHINES_READY, SEVERITY_INFO, STARTING, text);
    }
    Condition::yes(CONDITION_MACHINES_READY)
}

/// The note of an Event, where the served schema has no conditions. Without counts, so that it is written once.
pub(super) fn event(view: &View) -> Option<String> {
    let members = Members::of(view, Changes::default());
    let Cause { reason, message } = members.most_frequent()?;
    Some(messages::machines_not_ready(reason, message))
}

impl<'a> Members<'a> {
    fn of(view: &'a View, changes: Changes<'_>) -> Self {
        let deleted: HashSet<&ObjectKey> = changes.deleted.iter().collect();
        let (created, blocked) = (changes.created, Vec::new());
        let mut members = Self { total: created, starting: created, blocked };
        for member in view.members.iter().filter(|member| !deleted.contains(&member.key)) {
            members.total += 1;
            match state(member) {
                State::Ready => {}
                State::Starting => members.starting += 1,
                State::Blocked(cause) => members.blocked.push(cause),
            }
        }
        members
    }

    fn most_frequent(&self) -> Option<Cause<'a>> {
        let reason = most_frequent(self.blocked.iter().map(|cause| cause.reason))?;
        let same = self.blocked.iter().filter(|cause| cause.reason == reason);
        let message = most_frequent(same.map(|cause| cause.message))?;
        Some(Cause { reason, message })
    }
}

/// The first in the alphabet of those that are most frequent.
fn most_frequent<'a>(texts: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(text, count)| (*count, Reverse(*text))).map(|(text, _)| text)
}

fn state(member: &Member) -> State<'_> {
    let Some(seen) = &member.seen else {
        let message = messages::MACHINE_UNDECODABLE;
        return State::Blocked(Cause { reason: UNDECODABLE, message });
    };
    let machine = &seen.machine;
    let Some(ready) = machine.condition(CONDITION_READY) else {
        // The Machine of another controller, which sets a phase only.
        let message = machine.status.error_message.as_deref().unwrap_or_default();
        return match machine.status.phase {
            Some(Phase::Failed) => State::Blocked(Cause { reason: FAILED, message }),
            _ if seen.ready.is_some() => State::Ready,
            _ => State::Starting,
        };
    };
    let is_info = ready.severity.as_deref() == Some(SEVERITY_INFO);
    match ready.reason.as_deref() {
        // A ready Node is newer than a Machine that waits for it.
        _ if ready.is_true() || (is_info && seen.ready.is_some()) => State::Ready,
        Some(reason) if !is_info => {
            let message = ready.message.as_deref().unwrap_or_default();
            State::Blocked(Cause { reason, message })
        }
        _ => State::Starting,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::samples::{machine, member, set, view};
    use super::*;

    fn not_ready(name: &str, severity: &str, reason: &str, message: &str) -> Member {
        let ready = json!({"type": "Ready", "status": "False", "severity": severity,
            "reason": reason, "message": message});
        with_status(name, &json!({"conditions": [ready]}))
    }

    fn with_status(name: &str, status: &Value) -> Member {
        member(machine(name, &json!({"status": status})))
    }

    fn ready(name: &str) -> Member {
        with_status(name, &json!({"conditions": [{"type": "Ready", "status": "True"}]}))
    }

    fn after(members: Vec<Member>, changes: Changes<'_>) -> String {
        let condition = condition(&view(&set(), members), changes);
        let word = |word: Option<&str>| word.unwrap_or("-").to_owned();
        let (severity, reason) = (condition.severity.as_deref(), condition.reason.as_deref());
        let message = word(condition.message.as_deref());
        format!("{}/{}/{}: {message}", condition.status, word(severity), word(reason))
    }

    fn of(members: Vec<Member>) -> String {
        after(members, Changes::default())
    }

    #[test]
    fn names_the_most_frequent_reason_and_its_most_frequent_message() {
        let full = |name| not_ready(name, "Warning", "CapacityExhausted", "No capacity in zone a");
        let gone = |name| not_ready(name, "Error", "Failed", "Instance i-1 was terminated");
        let text = "False/Warning/Failed: 3 of 3 Machines failed: Instance i-1 was terminated";
        assert_eq!(of(vec![gone("a"), gone("b"), gone("c")]), text);
        let text = "False/Warning/CapacityExhausted: 2 of 3 Machines are not ready: \
                    CapacityExhausted: No capacity in zone a";
        assert_eq!(of(vec![full("a"), full("b"), ready("c")]), text);
        let text = "False/Warning/CapacityExhausted: 4 of 4 Machines are not ready, most often: \
                    CapacityExhausted: No capacity in zone a";
        let other = not_ready("c", "Warning", "CapacityExhausted", "A message that is rare");
        assert_eq!(of(vec![full("a"), full("b"), other, gone("d")]), text);
    }

    #[test]
    fn counts_machines_after_the_reconcile() {
        let full = |name| not_ready(name, "Warning", "CapacityExhausted", "No capacity");
        let deleted = [ObjectKey::new("ns", "a")];
        let changes = Changes { created: 2, deleted: &deleted };
        let text = after(vec![full("a"), full("b")], changes);
        assert!(text.contains("1 of 3 Machines are not ready: CapacityExhausted"), "{text}");
    }

    #[test]
    fn has_no_counts_while_machines_only_start() {
        let text = format!("False/Info/Starting: {}", messages::MACHINES_STARTING);
        let waiting = |name| not_ready(name, "Info", "WaitingForNode", "Waiting");
        assert_eq!(of(vec![waiting("a"), ready("b"), ready("c")]), text);
        assert_eq!(of(vec![ready("a"), ready("b")]), text, "the third is missing");
        assert_eq!(of(vec![ready("a"), ready("b"), ready("c")]), "True/-/-: -");
        let mut joined = waiting("a");
        joined.seen.as_mut().unwrap().ready = Some(None);
        assert_eq!(of(vec![joined, ready("b"), ready("c")]), "True/-/-: -", "its Node is ready");
    }

    #[test]
    fn a_set_that_is_held_says_so_while_its_size_is_another() {
        let of = |kind: &str, hold: &str, members: Vec<Member>| {
            let mut set = set();
            set["metadata"]["annotations"] = json!({"machinist.dev/hold": hold});
            let owner = json!({"kind": kind, "name": "web", "uid": "web-uid", "controller": true});
            set["metadata"]["ownerReferences"] = json!([owner]);
            let condition = condition(&view(&set, members), Changes::default());
            (condition.reason.unwrap_or_default(), condition.message.unwrap_or_default())
        };
        let (kind, moves) = ("MachineDeployment", "v1 out m0 uid-m0 web-b");
        let all = |count| ["a", "b", "c", "d"].into_iter().take(count).map(ready).collect();
        for count in [2, 4] {
            let (reason, text) = of(kind, moves, all(count));
            assert_eq!(reason, "Held");
            assert!(text.contains("Machine m0") && text.contains("MachineSet web-b"), "{text}");
        }
        assert_eq!(of(kind, moves, all(3)).0, "", "nothing is held up");
        assert_eq!(of("Other", moves, all(2)).0, "Starting");
        assert_eq!(of(kind, "v1 released", all(2)).0, "Starting");
        let blocked = not_ready("a", "Warning", "CapacityExhausted", "No capacity");
        assert_eq!(of(kind, moves, vec![blocked]).0, "CapacityExhausted", "what needs attention");
    }

    #[test]
    fn understands_machines_of_other_controllers_and_undecodable_ones() {
        let status = json!({"phase": "Failed", "errorMessage": "no such image"});
        let text = of(vec![with_status("a", &status), ready("b"), ready("c")]);
        assert_eq!(text, "False/Warning/Failed: 1 of 3 Machines failed: no such image");
        let mut linked = with_status("a", &json!({"phase": "Running"}));
        linked.seen.as_mut().unwrap().ready = Some(None);
        assert_eq!(of(vec![linked, ready("b"), ready("c")]), "True/-/-: -");
        let undecodable = Member { key: ObjectKey::new("ns", "u"), seen: None };
        let text = of(vec![undecodable, ready("b"), ready("c")]);
        assert!(text.starts_with("False/Warning/Undecodable: 1 of 3 Machines are"), "{text}");
    }
}

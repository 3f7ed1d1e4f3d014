//! Conditions of Machines and MachineSets in OpenShift's form: with a severity, sorted by type.
//!
//! A merge patch replaces lists, so the new list contains the conditions of other writers, and the write needs a
//! resourceVersion precondition. The transition time changes with status, reason, severity or message.

use std::borrow::Cow;

use jiff::{Timestamp, Unit};
use machinist_api::names;
use machinist_api::wire;
use serde::Serialize;
use serde_json::{Value, json};

/// A string that mostly is one of our own constants, which needs no allocation.
pub type Word = Cow<'static, str>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: Word,
    /// The status: `True`, `False`, `Unknown`, or any other value as it was read.
    pub status: Word,
    /// The severity; OpenShift sets it only if the condition is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Word>,
    /// The reason, from a closed list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// The last transition; [`set`] fills it in.
    #[serde(rename = "lastTransitionTime", skip_serializing_if = "Option::is_none")]
    pub last_transition: Option<Timestamp>,
}

impl Condition {
    pub fn yes(kind: &'static str) -> Self {
        Self::new(kind, names::STATUS_TRUE)
    }

    pub fn no(
        kind: &'static str,
        severity: &'static str,
        reason: &'static str,
        message: impl Into<Box<str>>,
    ) -> Self {
        Self { severity: Some(severity.into()), ..Self::new(kind, names::STATUS_FALSE) }
            .because(reason, message)
    }

    pub fn unknown(kind: &'static str, reason: &'static str, message: impl Into<Box<str>>) -> Self {
        Self::new(kind, names::STATUS_UNKNOWN).because(reason, message)
    }

    #[must_use]
    pub fn because(self, reason: &'static str, message: impl Into<Box<str>>) -> Self {
        let message = message.into();
        let message = if message.is_empty() { None } else { Some(message) };
        Self { reason: Some(reason.into()), message, ..self }
    }

    fn new(kind: &'static str, status: &'static str) -> Self {
        Self {
            kind: kind.into(),
            status: status.into(),
            severity: None,
            reason: None,
            message: None,
            last_transition: None,
        }
    }

    pub fn is_true(&self) -> bool {
        self.status == names::STATUS_TRUE
    }

    /// Whether both are equal apart from the time.
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { kind, status, severity, reason, message, last_transition: _ } = self;
        (kind, status, severity, reason, message)
            == (&other.kind, &other.status, &other.severity, &other.reason, &other.message)
    }

    /// Reads a condition. Empty strings are `None`, because Go omits them.
    pub fn read(wire: &wire::Condition) -> Self {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self {
            kind: word(wire.kind.clone()),
            status: word(wire.status.clone()),
            severity: filled(&wire.severity).map(word),
            reason: filled(&wire.reason).map(word),
            message: filled(&wire.message).map(String::into_boxed_str),
            last_transition: wire.last_transition_time,
        }
    }
}

pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

pub fn to_json(conditions: &[Condition]) -> Value {
    json!(conditions)
}

pub fn read(wire: &[wire::Condition]) -> Vec<Condition> {
    wire.iter().map(Condition::read).collect()
}

/// The list with `wanted`. Other conditions stay, and an equal one keeps its time. `None` if nothing changes.
pub fn set(
    current: &[Condition],
    wanted: impl IntoIterator<Item = Condition>,
    now: Timestamp,
) -> Option<Vec<Condition>> {
    let mut list: Option<Vec<Condition>> = None;
    for wanted in wanted {
        let known = find(list.as_deref().unwrap_or(current), &wanted.kind);
        if known.is_some_and(|known| known.is_equivalent_to(&wanted)) {
            continue;
        }
        let list = list.get_or_insert_with(|| current.to_vec());
        list.retain(|condition| condition.kind != wanted.kind);
        list.push(Condition { last_transition: Some(whole_seconds(now)), ..wanted });
    }
    list.map(sorted)
}

/// The list without the condition of this type; `None` if it has none.
pub fn without(current: &[Condition], kind: &str) -> Option<Vec<Condition>> {
    find(current, kind)?;
    let others = current.iter().filter(|condition| condition.kind != kind);
    Some(sorted(others.cloned().collect()))
}

fn sorted(mut list: Vec<Condition>) -> Vec<Condition> {
    list.sort_by(|a, b| a.kind.cmp(&b.kind));
    list
}

/// Truncates to seconds, as the API does.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    let options = jiff::TimestampRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc);
    time.round(options).unwrap_or(time)
}

/// Strings of which nearly every condition consists.
const COMMON: [&str; 24] = [
    names::STATUS_TRUE,
    names::STATUS_FALSE,
    names::STATUS_UNKNOWN,
    names::CONDITION_INSTANCE_EXISTS,
    names::CONDITION_DRAINED,
    names::CONDITION_DRAINABLE,
    names::CONDITION_TERMINABLE,
    names::CONDITION_PAUSED,
    names::CONDITION_READY,
    names::CONDITION_MACHINES_READY,
    names::SEVERITY_ERROR,
    names::SEVERITY_WARNING,
    names::SEVERITY_INFO,
    names::REASON_ERROR_CHECKING_PROVIDER,
    names::REASON_INSTANCE_MISSING,
    names::REASON_INSTANCE_NOT_CREATED,
    names::REASON_HOOK_PRESENT,
    names::REASON_DRAIN_ERROR,
    names::REASON_NOT_MACHINE_API,
    names::REASON_MACHINE_API,
    names::ERROR_INVALID_CONFIGURATION,
    names::PHASE_PROVISIONING,
    names::PHASE_PROVISIONED,
    names::PHASE_RUNNING,
];

fn word(text: String) -> Word {
    match COMMON.iter().find(|common| **common == text) {
        Some(common) => Cow::Borrowed(common),
        None => Cow::Owned(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn read_json(value: Value) -> Condition {
        Condition::read(&serde_json::from_value(value).unwrap())
    }

    fn not_ready(reason: &'static str, message: &str) -> Condition {
        Condition::no("Ready", "Warning", reason, message)
    }

    #[test]
    fn writes_back_what_it_read_unchanged() {
        for value in [
            json!({"type": "Ready", "status": "False", "severity": "Warning", "reason": "Why", "message": "because",
                "lastTransitionTime": "2026-01-02T03:04:05Z"}),
            json!({"type": "Theirs", "status": "Perhaps", "lastTransitionTime": "2026-01-02T03:04:05Z"}),
        ] {
            assert_eq!(json!(read_json(value.clone())), value);
        }
    }

    #[test]
    fn equal_conditions_are_not_written() {
        let current = set(&[], [Condition::yes("Ready")], at(10)).unwrap();
        assert_eq!(set(&current, [Condition::yes("Ready")], at(99)), None);
        assert_eq!(set(&current, [], at(99)), None);
        let empty = json!({"type": "Ready", "status": "True", "reason": "", "message": ""});
        assert_eq!(set(&[read_json(empty)], [Condition::yes("Ready")], at(99)), None);
    }

    #[test]
    fn transition_time_changes_with_status_reason_severity_and_message() {
        let current = set(&[], [not_ready("A", "a")], at(10)).unwrap();
        for changed in [
            Condition::yes("Ready"),
            not_ready("B", "a"),
            not_ready("A", "b"),
            Condition { severity: Some("Error".into()), ..not_ready("A", "a") },
        ] {
            let list = set(&current, [changed], at(20)).unwrap();
            assert_eq!((list.len(), list[0].last_transition), (1, Some(at(20))));
        }
    }

    #[test]
    fn conditions_of_others_stay_and_the_list_is_sorted_by_type() {
        let theirs = read_json(
            json!({"type": "Zebra", "status": "Odd", "lastTransitionTime": "2026-01-02T03:04:05Z"}),
        );
        let list = set(
            std::slice::from_ref(&theirs),
            [Condition::yes("Ready"), Condition::yes("Drained")],
            at(5),
        )
        .unwrap();
        let kinds: Vec<_> = list.iter().map(|condition| &*condition.kind).collect();
        assert_eq!(kinds, ["Drained", "Ready", "Zebra"]);
        assert_eq!(list[2], theirs);
        assert_eq!(without(&list, "Ready").unwrap().len(), 2);
        assert_eq!(without(&list, "Missing"), None);
    }

    #[test]
    fn times_have_whole_seconds() {
        let list = set(&[], [Condition::yes("Ready")], "2026-01-02T03:04:05.987Z".parse().unwrap());
        assert_eq!(to_json(&list.unwrap())[0]["lastTransitionTime"], "2026-01-02T03:04:05Z");
    }

    #[test]
    fn common_strings_are_not_allocated() {
        let known = read_json(json!({"type": "InstanceExists", "status": "True"}));
        assert!(matches!(known.kind, Cow::Borrowed(_)));
    }
}

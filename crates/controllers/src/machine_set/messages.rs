use std::fmt;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_HOLD, ANNOTATION_ORDINALS};
pub(super) use machinist_domain::messages::authority;
use machinist_domain::texts;

use super::error::Refusal;
use super::hold::Hold;
use super::selector::SelectorError;
use crate::kinds::UnknownDeletePolicy;

const NAMES_SHOWN: usize = 5;

/// How much of a Machine's message is repeated on its set.
const MESSAGE_LENGTH: usize = 240;

pub(super) const MACHINES_STARTING: &str = "Not all Machines have a ready node yet";
pub(super) const MACHINE_UNDECODABLE: &str = "The Machine cannot be decoded; see its Events";

/// The name of one Machine; or how many there are, and the first names.
pub(super) fn machine_names(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        names => {
            let first = &names[..names.len().min(NAMES_SHOWN)];
            let rest = if names.len() > first.len() { ", …" } else { "" };
            format!("{} Machines ({}{rest})", names.len(), first.join(", "))
        }
    }
}

pub(super) fn adopted(names: &[&str]) -> String {
    let labels = if names.len() == 1 { "its labels match" } else { "their labels match" };
    format!("Adopted {}: {labels} the selector", machine_names(names))
}

pub(super) fn released(names: &[&str]) -> String {
    let labels = if names.len() == 1 { "its labels" } else { "their labels" };
    format!("Released {}: {labels} no longer match the selector", machine_names(names))
}

/// Each with the time at which that ends, if it is stored. The first names in the order of the alphabet.
pub(super) fn machines_preserved(
    mut preserved: Vec<(&str, Option<Timestamp>)>,
    excess: usize,
) -> String {
    preserved.sort_unstable();
    let name = |(name, until): &(&str, Option<Timestamp>)| match until {
        Some(until) => format!("{name} (until {until})"),
        None => (*name).to_owned(),
    };
    let names: Vec<_> = preserved.iter().take(NAMES_SHOWN).map(name).collect();
    let rest = if preserved.len() > names.len() { ", …" } else { "" };
    let names = format!("{}{rest}", names.join(", "));
    match excess {
        0 => format!("Kept for debugging: {names}"),
        _ => format!(
            "Kept for debugging: {names}; the set has {excess} more Machines than spec.replicas \
             until that ends"
        ),
    }
}

pub(super) fn machines_blocked(
    blocked: usize,
    total: usize,
    mixed: bool,
    reason: &str,
    message: &str,
) -> String {
    let most_often = if mixed { ", most often" } else { "" };
    let message = shortened(message);
    format!("{blocked} of {total} Machines are not ready{most_often}: {reason}: {message}")
}

fn shortened(message: &str) -> String {
    message.chars().take(MESSAGE_LENGTH).collect()
}

texts! {
    pub(super) fn machines_failed(failed: usize, total: usize, message: &str) =
        "{failed} of {total} Machines failed: {}", shortened(message);
    pub(super) fn machines_not_ready(reason: &str, message: &str) =
        "Machines are not ready: {reason}: {}", shortened(message);
    pub(super) fn created(names: &[&str]) = "Created {}", machine_names(names);
    pub(super) fn deleted(names: &[&str]) = "Deleted {}", machine_names(names);
    pub(super) fn adopt_failed(machine: &str, cause: &str) = "Cannot adopt Machine {machine}: {cause}";
    pub(super) fn release_failed(machine: &str, cause: &str) = "Cannot release Machine {machine}: {cause}";
    pub(super) fn set_unread(cause: &str) =
        "Cannot read the MachineSet, which is needed before it adopts Machines: {cause}";
    pub(super) fn orphan_undecodable(machine: &str) =
        "Cannot adopt Machine {machine}: it cannot be decoded; see its Events";
    pub(super) fn create_failed(cause: &str) = "Cannot create Machines: {cause}";
    pub(super) fn delete_failed(cause: &str) = "Cannot delete Machines: {cause}";
    pub(super) fn list_failed(cause: &str) =
        "Cannot list the Machines of the set, which is needed before it scales down or after a creation without an \
         answer: {cause}";
    pub(super) fn window_failed(cause: &str) = "Cannot update annotation {ANNOTATION_ORDINALS}: {cause}";
    pub(super) fn template_spec(error: &serde_json::Error) = "spec.template.spec: {error}";
    pub(super) fn status_failed(cause: &str) = "Cannot update the status: {cause}";
    pub(super) fn not_a_window(text: &str) = "{text:?} is not a range of ordinals such as 3..5";
    pub(super) fn held(hold: &Hold) =
        "No Machine is created or deleted while Machine {} is moved {} MachineSet {} (annotation {ANNOTATION_HOLD})",
        hold.machine, hold.direction(), hold.peer;
    pub(super) fn none_deletable(excess: usize) =
        "Cannot scale down by {excess}: no Machine of the set can be decoded; \
         correct the Machines, or delete them by hand";
}

pub(super) fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Undecodable(reason) => format!("MachineSet cannot be decoded: {reason}"),
        Refusal::Selector(error) => error.to_string(),
        Refusal::SelectorMismatch { selector } => format!(
            "spec.selector {selector} does not match the labels in spec.template.metadata.labels"
        ),
        Refusal::Replicas(replicas) => {
            format!("spec.replicas must not be negative (got {replicas})")
        }
        Refusal::DeletePolicy(UnknownDeletePolicy(policy)) => {
            format!("spec.deletePolicy must be Random, Newest or Oldest (got {policy:?})")
        }
        Refusal::Window(error) => {
            format!("Annotation {ANNOTATION_ORDINALS} is invalid: {error}; remove the annotation")
        }
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("spec.selector")?;
        match self {
            Self::Empty => f.write_str(" must not be empty (it would select every Machine)"),
            Self::BadKey(key) => write!(f, ": {key:?} is not a valid label key"),
            Self::BadValue(key, value) => {
                write!(f, ": {value:?} is not a valid value of label {key}")
            }
            Self::BadOperator(key, operator) => write!(
                f,
                ": operator {operator:?} of label {key} is not In, NotIn, Exists or DoesNotExist"
            ),
            Self::BadCount(key, operator) => {
                write!(f, ": operator {operator} of label {key} has the wrong number of values")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::names::{
        ERROR_INVALID_CONFIGURATION, REASON_MACHINE_API, REASON_NOT_MACHINE_API,
    };
    use machinist_domain::key::Uid;
    use machinist_domain::machine::MachineAuthority;
    use machinist_domain::message_table::message_table;
    use machinist_domain::report::EventReason;
    use serde_json::Value;

    use super::super::hold::Side;
    use super::super::ordinals::Window;
    use super::*;

    const NORMAL: &str = "Event Normal";
    const FAILURE: &str = "Event Warning, condition ReplicaFailure=True";
    const INVALID: &str =
        "condition ReplicaFailure=True, status.errorMessage, Event Warning ReconcileError";

    #[test]
    fn all_messages() {
        let (one, many) = (["fleet-s84c-1"], ["a", "b", "c", "d", "e", "f"]);
        let refused =
            |what: &str| format!("the API server answered 403 Forbidden: {what} is forbidden");
        let machine = &refused("machines.machine.openshift.io \"fleet-s84c-1\"");
        let machines = &refused("machines.machine.openshift.io");
        let set = &refused("machinesets.machine.openshift.io \"fleet\"");
        let mut rows = vec![
            (NORMAL, EventReason::Adopted.as_str(), adopted(&one)),
            (NORMAL, EventReason::Adopted.as_str(), adopted(&many)),
            (NORMAL, EventReason::Released.as_str(), released(&one)),
            (NORMAL, EventReason::Released.as_str(), released(&many)),
            (NORMAL, EventReason::Scaled.as_str(), created(&many)),
            (NORMAL, EventReason::Scaled.as_str(), deleted(&one)),
            (FAILURE, EventReason::ReconcileError.as_str(), adopt_failed(one[0], machine)),
            (FAILURE, EventReason::ReconcileError.as_str(), release_failed(one[0], machine)),
            (FAILURE, EventReason::ReconcileError.as_str(), set_unread(set)),
            (
                "condition ReplicaFailure=True",
                EventReason::ReconcileError.as_str(),
                orphan_undecodable("fleet-s84c-1"),
            ),
            (FAILURE, EventReason::ReconcileError.as_str(), list_failed(machines)),
            (FAILURE, EventReason::ReconcileError.as_str(), window_failed(set)),
            ("Event Warning", EventReason::ReconcileError.as_str(), status_failed(set)),
            (FAILURE, EventReason::FailedCreate.as_str(), create_failed(machines)),
            (FAILURE, EventReason::FailedDelete.as_str(), delete_failed(machine)),
            (FAILURE, EventReason::FailedDelete.as_str(), none_deletable(2)),
        ];
        let preserved = "condition MachinesPreserved=True";
        let until = "2026-06-05T12:00:00Z".parse().ok();
        let two = || vec![("fleet-s84c-2", None), ("fleet-s84c-1", until)];
        rows.extend([
            (preserved, "Preserved", machines_preserved(two(), 0)),
            (preserved, "Preserved", machines_preserved(two(), 1)),
            (preserved, "Preserved", machines_preserved(many.map(|name| (name, until)).into(), 6)),
        ]);
        let not_ready = "condition MachinesReady=False";
        let full = ("CapacityExhausted", "No capacity for m5.large in zone eu-west-1a");
        let gone = "Instance i-1 was terminated (host failed); delete this Machine to replace it";
        let hold = |side| {
            let (machine, peer) = ("web-kq7x-0".into(), "web-bcdfghjklm".into());
            Hold { side, machine, uid: Uid("u".into()), peer }
        };
        rows.extend([
            (not_ready, "Starting", MACHINES_STARTING.to_owned()),
            (not_ready, "Held", held(&hold(Side::Out))),
            (not_ready, "Held", held(&hold(Side::In))),
            (not_ready, full.0, machines_blocked(3, 9, false, full.0, full.1)),
            (not_ready, full.0, machines_blocked(4, 9, true, full.0, full.1)),
            (not_ready, "Failed", machines_failed(3, 3, gone)),
            (
                not_ready,
                "Undecodable",
                machines_blocked(1, 3, false, "Undecodable", MACHINE_UNDECODABLE),
            ),
            (
                "Event Warning",
                EventReason::MachinesNotReady.as_str(),
                machines_not_ready(full.0, full.1),
            ),
        ]);
        let template = serde_json::from_str::<Value>(&"[".repeat(200)).unwrap_err();
        rows.push((
            FAILURE,
            EventReason::FailedCreate.as_str(),
            create_failed(&template_spec(&template)),
        ));
        let mut paused = |place, reason, value| rows.push((place, reason, authority(value)));
        paused("condition Paused=False", REASON_MACHINE_API, MachineAuthority::MachineApi);
        paused("condition Paused=True", REASON_NOT_MACHINE_API, MachineAuthority::ClusterApi);
        let place = "condition Paused=True, Event Warning ReconcileError";
        paused(place, REASON_NOT_MACHINE_API, MachineAuthority::Unknown);
        let (text, window) = (str::to_owned, "v2".parse::<Window>().unwrap_err());
        let undecodable =
            "spec.replicas: invalid type: string \"x\", expected a whole number".to_owned();
        let undecodable = refusal(&Refusal::Undecodable(undecodable));
        rows.push(("Event Warning", EventReason::ReconcileError.as_str(), undecodable));
        for refused in [
            Refusal::Selector(SelectorError::Empty),
            Refusal::Selector(SelectorError::BadKey(text("-a"))),
            Refusal::Selector(SelectorError::BadValue(text("tier"), text("b c"))),
            Refusal::Selector(SelectorError::BadOperator(text("tier"), text("Gt"))),
            Refusal::Selector(SelectorError::BadCount(text("tier"), text("In"))),
            Refusal::SelectorMismatch { selector: "a=b".to_owned() },
            Refusal::Replicas(-1),
            Refusal::DeletePolicy(UnknownDeletePolicy("Prettiest".to_owned())),
            Refusal::Window(window),
        ] {
            rows.push((INVALID, ERROR_INVALID_CONFIGURATION, refusal(&refused)));
        }
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}

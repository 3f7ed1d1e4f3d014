//! What an object says of itself, in a word.

use kube::api::DynamicObject;
use serde_json::Value;

pub(crate) fn phase(machine: &DynamicObject) -> &str {
    machine.data["status"]["phase"].as_str().unwrap_or_default()
}

fn word(object: &DynamicObject, kind: &str, name: &str) -> String {
    let mut list = object.data["status"]["conditions"].as_array().into_iter().flatten();
    let found = list.find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition[name].as_str()).unwrap_or_default().to_owned()
}

/// Status and reason of a condition, such as `False/InstanceGone`.
pub(crate) fn condition(object: &DynamicObject, kind: &str) -> String {
    match (word(object, kind, "status"), word(object, kind, "reason")) {
        (status, reason) if reason.is_empty() => status,
        (status, reason) => format!("{status}/{reason}"),
    }
}

pub(crate) fn message(object: &DynamicObject, kind: &str) -> String {
    word(object, kind, "message")
}

/// Whether it has no deletion timestamp.
pub(crate) fn is_alive(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_none()
}

/// A machine in a line: its name, its phase, and what is in its way.
pub(crate) fn line(machine: &DynamicObject) -> String {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let conditions = ["Ready", "InstanceExists", "Drained"].map(|kind| condition(machine, kind));
    let going = if is_alive(machine) { "" } else { ", going" };
    format!("{name}: {}{going} {conditions:?} {}", phase(machine), message(machine, "Ready"))
}

/// A number of a status.
pub(crate) fn number(status: &Value, name: &str) -> i64 {
    status[name].as_i64().unwrap_or_default()
}

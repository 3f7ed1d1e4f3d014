//! The state in the status of an object, in a word.

use kube::api::DynamicObject;
use serde_json::Value;

/// The phase of a Machine.
pub fn phase(machine: &DynamicObject) -> &str {
    machine.data["status"]["phase"].as_str().unwrap_or_default()
}

/// The name of the Node in the status of a Machine.
pub fn node_of(machine: &DynamicObject) -> &str {
    machine.data["status"]["nodeRef"]["name"].as_str().unwrap_or_default()
}

/// A condition, or null.
pub fn condition_of<'a>(object: &'a DynamicObject, kind: &str) -> &'a Value {
    let mut list = object.data["status"]["conditions"].as_array().into_iter().flatten();
    list.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// Status and reason of a condition, such as `False/InstanceGone`.
pub fn condition(object: &DynamicObject, kind: &str) -> String {
    let found = condition_of(object, kind);
    let status = found["status"].as_str().unwrap_or_default();
    match found["reason"].as_str().unwrap_or_default() {
        "" => status.to_owned(),
        reason => format!("{status}/{reason}"),
    }
}

/// The message of a condition.
pub fn message<'a>(object: &'a DynamicObject, kind: &str) -> &'a str {
    condition_of(object, kind)["message"].as_str().unwrap_or_default()
}

/// Whether it has no deletion timestamp.
pub fn is_alive(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_none()
}

/// Whether a Machine is Running and not being deleted.
pub fn runs(machine: &DynamicObject) -> bool {
    phase(machine) == "Running" && is_alive(machine)
}

/// A Machine in a line: its name, its phase, and what is in its way.
pub fn line(machine: &DynamicObject) -> String {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let conditions = ["Ready", "InstanceExists", "Drained"].map(|kind| condition(machine, kind));
    let going = if is_alive(machine) { "" } else { ", going" };
    let error = &machine.data["status"]["errorMessage"];
    format!(
        "{name}: {}{going} {conditions:?} {} {error}",
        phase(machine),
        message(machine, "Ready")
    )
}

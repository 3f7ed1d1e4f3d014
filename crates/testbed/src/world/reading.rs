use kube::api::DynamicObject;
use serde_json::Value;

pub fn phase(machine: &DynamicObject) -> &str {
    machine.data["status"]["phase"].as_str().unwrap_or_default()
}

pub fn node_of(machine: &DynamicObject) -> &str {
    machine.data["status"]["nodeRef"]["name"].as_str().unwrap_or_default()
}

pub fn condition_of<'a>(object: &'a DynamicObject, kind: &str) -> &'a Value {
    let mut list = object.data["status"]["conditions"].as_array().into_iter().flatten();
    list.find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

/// Such as `False/InstanceGone`.
pub fn condition(object: &DynamicObject, kind: &str) -> String {
    let found = condition_of(object, kind);
    let status = found["status"].as_str().unwrap_or_default();
    match found["reason"].as_str().unwrap_or_default() {
        "" => status.to_owned(),
        reason => format!("{status}/{reason}"),
    }
}

pub fn message<'a>(object: &'a DynamicObject, kind: &str) -> &'a str {
    condition_of(object, kind)["message"].as_str().unwrap_or_default()
}

pub fn is_alive(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_none()
}

pub fn runs(machine: &DynamicObject) -> bool {
    phase(machine) == "Running" && is_alive(machine)
}

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

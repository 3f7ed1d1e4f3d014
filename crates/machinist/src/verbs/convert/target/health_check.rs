//! The MachineHealthCheck of a MachineDeployment, or of a MachineSet without one. The kind is OpenShift's.

use std::collections::BTreeMap;

use machinist_api::parts::LabelSelector;
use serde_json::{Value, json};

use super::{metadata, object};
use crate::verbs::convert::source::{Metadata, Set};

pub(super) const KIND: &str = "MachineHealthCheck";

/// Machine-controller-manager replaces one machine of a MachineDeployment at a time.
const MAX_UNHEALTHY: u8 = 1;

/// With the selector of the converted object. None if unhealthy machines are not replaced, or would not be found.
pub(super) fn of(source: &Metadata, set: &Set, selector: &LabelSelector) -> Option<Value> {
    let health = &set.template.spec.configuration;
    let is_empty = selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty);
    if !health.replaces_unhealthy || is_empty {
        return None;
    }
    // Healthy is Ready=True and every other condition False, if it is there.
    let ready = ["False", "Unknown"].map(|status| ("Ready", status));
    let others = health.conditions.iter().map(String::as_str).filter(|name| *name != "Ready");
    let others = others.flat_map(|name| [(name, "True"), (name, "Unknown")]);
    let conditions = ready
        .into_iter()
        .chain(others)
        .map(|(name, status)| json!({ "type": name, "status": status, "timeout": health.health }));
    let spec = json!({
        "maxUnhealthy": MAX_UNHEALTHY,
        "nodeStartupTimeout": health.creation,
        "selector": selector,
        "unhealthyConditions": conditions.collect::<Vec<_>>(),
    });
    let metadata = metadata::of(source, metadata::Pairs::new(), metadata::Pairs::new());
    Some(object(KIND, &metadata, &spec))
}

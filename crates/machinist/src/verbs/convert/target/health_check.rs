//! The MachineHealthCheck of a MachineDeployment, or of a MachineSet without one. The kind is OpenShift's.

use serde_json::{Value, json};

use super::{metadata, object};
use crate::verbs::convert::source::{Metadata, Set};

pub(super) const KIND: &str = "MachineHealthCheck";

/// Machine-controller-manager replaces one machine of a MachineDeployment at a time.
const MAX_UNHEALTHY: u8 = 1;

/// None if unhealthy machines are not replaced, or would not be found.
pub(super) fn of(source: &Metadata, set: &Set) -> Option<Value> {
    let health = &set.template.spec.configuration;
    let labels = metadata::labels(&set.selector.match_labels.clone().unwrap_or_default());
    let expressions = set.selector.match_expressions.as_deref().unwrap_or_default();
    if !health.replaces_unhealthy || (labels.is_empty() && expressions.is_empty()) {
        return None;
    }
    let mut selector = json!({ "matchLabels": labels });
    if !expressions.is_empty() {
        selector["matchExpressions"] = json!(expressions);
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

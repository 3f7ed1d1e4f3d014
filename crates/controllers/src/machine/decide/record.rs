//! The patch that records an instance on its Machine: provider ID, labels and annotation, where they differ.

use machinist_api::names::{
    ANNOTATION_INSTANCE_STATE, LABEL_INTERRUPTIBLE, LABEL_MACHINE_INSTANCE_TYPE,
    LABEL_MACHINE_REGION, LABEL_MACHINE_ZONE,
};
use machinist_domain::pairs::Pairs;
use machinist_provider::cloud::Instance;
use serde_json::{Map, Value};

use crate::kinds::Machine;

pub(super) fn difference(machine: &Machine, instance: &Instance) -> Option<Value> {
    let mut patch = Value::Null;
    if machine.provider_id.as_deref() != Some(&*instance.provider_id) {
        patch["spec"]["providerID"] = (&*instance.provider_id).into();
    }
    let interruptible = instance.interruptible.then_some("");
    let labels = [
        (LABEL_MACHINE_REGION, instance.region.as_deref()),
        (LABEL_MACHINE_ZONE, instance.zone.as_deref()),
        (LABEL_MACHINE_INSTANCE_TYPE, instance.instance_type.as_deref()),
        (LABEL_INTERRUPTIBLE, interruptible),
    ];
    if let Some(labels) = missing(&machine.labels, &labels) {
        patch["metadata"]["labels"] = labels;
    }
    let state = [(ANNOTATION_INSTANCE_STATE, Some(&*instance.state_text))];
    if let Some(annotations) = missing(&machine.annotations, &state) {
        patch["metadata"]["annotations"] = annotations;
    }
    // nodelink copies it to the Node, where the termination handler selects by it.
    if let Some(labels) = missing(&machine.node_labels, &[(LABEL_INTERRUPTIBLE, interruptible)]) {
        patch["spec"]["metadata"]["labels"] = labels;
    }
    (!patch.is_null()).then_some(patch)
}

fn missing(current: &Pairs, wanted: &[(&str, Option<&str>)]) -> Option<Value> {
    let missing: Map<_, _> = wanted
        .iter()
        .filter_map(|(name, value)| Some((*name, (*value)?)))
        .filter(|(name, value)| current.get(name) != Some(*value))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    (!missing.is_empty()).then_some(Value::Object(missing))
}

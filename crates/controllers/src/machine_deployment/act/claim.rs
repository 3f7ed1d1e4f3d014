//! The patches that adopt and release MachineSets. Pure.

use machinist_api::names::{
    ANNOTATION_HOLD, ANNOTATION_ROLLOUT_ABORTED, LABEL_DEPLOYMENT_NAME, LABEL_TEMPLATE_HASH,
};
use machinist_api::resource::MACHINE_DEPLOYMENTS;
use machinist_domain::meta::Meta;
use serde_json::{Map, Value, json};

use super::super::template;
use crate::kinds::MachineSet;
use crate::machine_set::hold::RELEASED;
use crate::owner_references::references;

/// The maximum length of a label's value.
const LONGEST_VALUE: usize = 63;

pub(super) fn adopt(set: &MachineSet, deployment: &Meta) -> Value {
    let owners = references(&set.state.other_owners, Some((MACHINE_DEPLOYMENTS, deployment)));
    let mut labels = deployment_label(deployment);
    // The set of the same template is taken over as it is.
    let hot_fields = set.state.hot_fields.as_deref();
    if let Ok(hash) = template::hash_on(&set.state.spec.template, hot_fields) {
        labels.insert(LABEL_TEMPLATE_HASH.to_owned(), json!(hash));
    }
    patch(set, &owners, &labels)
}

pub(super) fn release(set: &MachineSet, deployment: &Meta) -> Value {
    let owners = references(&set.state.other_owners, None);
    let mut labels = deployment_label(deployment);
    labels.retain(|name, value| set.state.labels.get(name) == value.as_str());
    labels.values_mut().for_each(|value| *value = Value::Null);
    patch(set, &owners, &labels)
}

/// By which cluster-autoscaler finds the sets of a deployment; none if the name is too long for a label.
pub(super) fn deployment_label(deployment: &Meta) -> Map<String, Value> {
    let name = Some(&*deployment.key.name).filter(|name| name.len() <= LONGEST_VALUE);
    name.map(|name| (LABEL_DEPLOYMENT_NAME.to_owned(), json!(name))).into_iter().collect()
}

/// A move that another owner began, and its abort of a rollout, end with the ownership.
fn patch(set: &MachineSet, owners: &Value, labels: &Map<String, Value>) -> Value {
    let mut annotations = Map::new();
    // A Machine may have been moved, so the set still lists its Machines before it creates or deletes any.
    if set.state.hold.as_deref().is_some_and(|hold| hold != RELEASED) {
        annotations.insert(ANNOTATION_HOLD.to_owned(), json!(RELEASED));
    }
    if set.state.guard.aborted {
        annotations.insert(ANNOTATION_ROLLOUT_ABORTED.to_owned(), Value::Null);
    }
    let mut metadata = json!({"ownerReferences": owners, "labels": labels});
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    json!({"metadata": metadata})
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::{deployment, read, set};
    use super::*;

    #[test]
    fn what_another_owner_began_ends_with_the_ownership() {
        let deployment = read(&deployment());
        for (stored, expected) in [
            (json!({}), Value::Null),
            (json!({"machinist.dev/hold": RELEASED}), Value::Null),
            (
                json!({"machinist.dev/hold": "v1 out a-0 u b"}),
                json!({"machinist.dev/hold": RELEASED}),
            ),
            (
                json!({"machinist.dev/rollout-aborted": "v1 2026-06-01T12:00:00Z"}),
                json!({"machinist.dev/rollout-aborted": null}),
            ),
        ] {
            let set = set("a", 3, 1, &json!({"metadata": {"annotations": stored}}));
            let adopted = adopt(&set, &deployment.meta);
            assert_eq!(adopted["metadata"]["annotations"], expected);
            assert_eq!(adopted["metadata"]["ownerReferences"][0]["name"], "web");
            let released = release(&set, &deployment.meta);
            assert_eq!(released["metadata"]["annotations"], expected);
            assert_eq!(released["metadata"]["ownerReferences"], json!([]));
        }
    }
}

//! An address is reused when its instance is gone, and a linked Node is deleted with its Machine. So an address counts
//! only for a Machine that can still have the instance, and never against a provider ID, which names one instance.

use std::sync::Arc;

use machinist_domain::machine::Phase;

use crate::kinds::{Machine, Node};

/// Whether `node`, which has the provider ID or an address of `machine`, may be linked to it. `is_there`: whether a
/// Node of a given name exists.
pub(super) fn is_claim(
    machine: &Machine,
    node: &Node,
    is_there: impl FnOnce(&Arc<str>) -> bool,
) -> bool {
    if let (Some(wanted), Some(there)) = (&machine.provider_id, &node.provider_id) {
        return wanted == there;
    }
    let failed = machine.status.phase == Some(Phase::Failed);
    let named = machine.status.node_ref.as_ref().map(|named| &named.name);
    let has_another = named.is_some_and(|name| *name != node.meta.key.name && is_there(name));
    !failed && !machine.meta.deleting && !has_another
}

#[cfg(test)]
mod tests {
    use machinist_runtime::cache::kind::Kind as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::Machines;
    use crate::node_link::samples::{NoSpecs, node};

    fn machine(patch: &Value) -> Machine {
        let mut machine = json!({
            "metadata": {"namespace": "prod", "name": "m", "uid": "m-uid", "resourceVersion": "7"},
            "spec": {"providerID": "p:///1"},
            "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]},
        });
        for (part, fields) in patch.as_object().unwrap() {
            for (name, value) in fields.as_object().unwrap() {
                machine[part][name] = value.clone();
            }
        }
        Machines::new(Arc::new(NoSpecs))
            .project(serde_json::from_str(&machine.to_string()).unwrap())
    }

    fn claims(patch: &Value, provider_id: &Value) -> bool {
        let node = node(json!({}), json!({ "providerID": provider_id }));
        is_claim(&machine(patch), &node, |name| **name == *"alive")
    }

    #[test]
    fn matches_by_address_only_while_the_machine_can_have_the_instance() {
        let no_id = json!({"spec": {"providerID": null}});
        let failed = json!({"status": {"phase": "Failed"}});
        let deleting = json!({"metadata": {"deletionTimestamp": "2026-03-01T12:00:00Z"}});
        let linked =
            |name: &str| json!({"status": {"nodeRef": {"kind": "Node", "name": name, "uid": "u"}}});
        for (patch, by_address) in [
            (json!({}), true),
            (no_id.clone(), true),
            (failed.clone(), false),
            (deleting.clone(), false),
            (linked("alive"), false),
            (linked("dead"), true),
            (linked("n"), true),
        ] {
            assert_eq!(claims(&patch, &Value::Null), by_address, "{patch}");
        }
        // The provider ID always decides.
        for patch in [json!({}), failed, deleting, linked("alive")] {
            assert!(claims(&patch, &json!("p:///1")), "{patch}");
            assert!(!claims(&patch, &json!("p:///2")), "{patch}");
        }
        assert!(claims(&no_id, &json!("p:///2")), "it has no provider ID yet");
    }
}

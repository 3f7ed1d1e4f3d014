//! Kinds that only OpenShift has.

use serde_json::{Value, json};

/// The definition of a kind whose objects may have any field.
pub(crate) fn definition(
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
    scope: &str,
) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "kind": kind,
                "plural": plural,
                "singular": kind.to_lowercase(),
                "listKind": format!("{kind}List"),
            },
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    })
}

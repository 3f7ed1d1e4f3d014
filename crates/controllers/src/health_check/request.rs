//! What a remediation object contains. Pure.

use machinist_api::names::{
    ANNOTATION_CLONED_FROM_GROUP_KIND, ANNOTATION_CLONED_FROM_NAME, ANNOTATION_HEALTH_CHECK,
};
use machinist_api::resource::MACHINES;
use machinist_domain::meta::Meta;
use serde_json::{Map, Value, json};

use super::snapshot::Template;

/// The suffix of a template's kind; without it, it is the kind of the remediation objects.
pub(super) const TEMPLATE: &str = "Template";

/// As OpenShift's: the template's labels, annotations and spec, and an owner that is not its controller.
pub(super) fn body(template: &Template, check: &Meta, machine: &Meta) -> Value {
    let mut body = template.body.as_object().cloned().unwrap_or_default();
    body.remove("status");
    let metadata = body.remove("metadata").unwrap_or_default();
    let part = |name: &str| metadata[name].as_object().cloned().unwrap_or_default();
    let mut annotations = part("annotations");
    for (name, value) in [
        (ANNOTATION_CLONED_FROM_NAME, template.name.as_str()),
        (ANNOTATION_CLONED_FROM_GROUP_KIND, &template.group_kind),
        (ANNOTATION_HEALTH_CHECK, &check.key.name),
    ] {
        annotations.insert(name.to_owned(), json!(value));
    }
    let owner = json!({
        "apiVersion": MACHINES.api_version(),
        "kind": MACHINES.kind,
        "name": &*machine.key.name,
        "uid": &*machine.uid.0,
    });
    let metadata = json!({
        "labels": part("labels"),
        "annotations": Map::from_iter(annotations),
        "ownerReferences": [owner],
    });
    body.insert("metadata".to_owned(), metadata);
    body.into()
}

#[cfg(test)]
mod tests {
    use super::super::samples::{check, machine};
    use super::*;

    #[test]
    fn it_has_what_the_template_has_and_names_its_machine() {
        let template = Template {
            name: "power-cycle".to_owned(),
            group_kind: "FixTemplate.fix.io".to_owned(),
            request_kind: "Fix",
            body: std::sync::Arc::new(json!({
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "x", "finalizers": ["f"]},
                "spec": {"strategy": {"retries": 2}},
                "status": {"done": true},
            })),
        };
        let (check, machine) = (check(&json!({})), machine("m", &json!({})));
        assert_eq!(
            body(&template, &check.meta, &machine.meta),
            json!({
                "metadata": {
                    "labels": {"a": "b"},
                    "annotations": {
                        "c": "d",
                        "machine.openshift.io/cloned-from-name": "power-cycle",
                        "machine.openshift.io/cloned-from-groupkind": "FixTemplate.fix.io",
                        "machinist.dev/health-check": "c",
                    },
                    "ownerReferences": [{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                        "name": "m", "uid": "uid-m"}],
                },
                "spec": {"strategy": {"retries": 2}},
            })
        );
    }
}

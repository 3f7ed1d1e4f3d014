//! Makes derived CRDs accept what OpenShift's accept, and give it back as it was: free-form objects, rules, no nulls.
//!
//! Every variant of an enum has a doc comment, because schemars would otherwise add `null` to the enum.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Value, json};

use crate::messages;

/// A provider's object: neither validated nor pruned.
pub(crate) fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

pub(crate) fn time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "string", "format": "date-time"})
}

/// A number, or a percentage as text.
pub(crate) fn int_or_percent(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"x-kubernetes-int-or-string": true})
}

/// The same, with the limits of a health check.
pub(crate) fn max_unhealthy(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^((100|[0-9]{1,2})%|[0-9]+)$",
        "x-kubernetes-int-or-string": true,
    })
}

/// A number from 0 without a format, which Go's `int` has.
pub(crate) fn count(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "integer", "minimum": 0})
}

pub(crate) fn authority_rules() -> Value {
    json!([{
        "rule": "self == 'Migrating' || self == oldSelf || oldSelf == 'Migrating'",
        "message": messages::AUTHORITY,
    }])
}

/// Rules of a status that takes part in a migration between the two machine APIs.
pub(crate) fn migration_rules() -> Value {
    json!([
        {
            "rule": "!has(oldSelf.synchronizedGeneration) || (has(self.synchronizedGeneration) && \
                self.synchronizedGeneration >= oldSelf.synchronizedGeneration) || \
                (oldSelf.authoritativeAPI == 'Migrating' && self.authoritativeAPI != 'Migrating')",
            "message": messages::GENERATION,
            "fieldPath": ".synchronizedGeneration",
            "reason": "FieldValueInvalid",
        },
        {
            "rule": "has(self.authoritativeAPI) || !has(oldSelf.authoritativeAPI)",
            "message": messages::AUTHORITY_REMOVED,
        },
    ])
}

/// Removes what OpenShift's CRD does not have.
///
/// * `nullable`: a `null` would be stored where theirs fills in the default or says no.
/// * A required `spec`: theirs accepts an object without one.
/// * A title, which only says the kind again.
pub(crate) fn as_openshift_has_it(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|it| it.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            schema.required = None;
            schema.title = None;
            without_nulls(schema);
        }
    }
    crd
}

/// The two types of a number or text, which the generator leaves out.
fn restore_types(choices: &mut [JSONSchemaProps], int_or_string: Option<bool>) {
    if int_or_string == Some(true) {
        for (choice, name) in choices.iter_mut().zip(["integer", "string"]) {
            choice.type_ = Some(name.to_owned());
        }
    }
}

fn without_nulls(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(choices) = &mut schema.any_of {
        restore_types(choices, schema.x_kubernetes_int_or_string);
    }
    let properties = schema.properties.as_mut().into_iter().flat_map(BTreeMap::values_mut);
    properties.for_each(without_nulls);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        without_nulls(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        without_nulls(values);
    }
}

//! Reads `AWSMachineProviderConfig`, under both API groups that it is found under.
//!
//! Only what is needed is read; a field with the wrong type is an error that names the place. The spec is hostile input.

use machinist_domain::shape::Shape;
use machinist_provider::{SpecError, SpecHalf};
use serde::Deserialize;
use serde_json::value::RawValue;

const KIND: &str = "AWSMachineProviderConfig";

/// The spec half for AWS.
#[derive(Debug, Clone, Copy, Default)]
pub struct AwsSpecs;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProviderConfig {
    kind: String,
    instance_type: String,
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self { kind: KIND.to_owned(), instance_type: String::new() }
    }
}

impl SpecHalf for AwsSpecs {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let config: ProviderConfig = serde_json::from_str(spec.get())
            .map_err(|error| SpecError::Invalid { reason: error.to_string() })?;
        if config.kind != KIND {
            return Err(SpecError::ForeignKind { kind: config.kind });
        }
        if config.instance_type.is_empty() {
            return Err(SpecError::Invalid { reason: "instanceType is missing".to_owned() });
        }
        Ok(Shape { instance_type: config.instance_type.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(json: &str) -> Result<Shape, SpecError> {
        AwsSpecs.shape(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn reads_both_api_groups() {
        for group in ["awsproviderconfig.openshift.io/v1beta1", "machine.openshift.io/v1beta1"] {
            let spec = format!(
                r#"{{"apiVersion":"{group}","kind":"AWSMachineProviderConfig","instanceType":"m6i.large","x":[1]}}"#
            );
            assert_eq!(shape(&spec), Ok(Shape { instance_type: "m6i.large".into() }));
        }
    }

    #[test]
    fn bad_specs_say_what_is_wrong() {
        assert!(matches!(shape("[]"), Err(SpecError::Invalid { .. })));
        assert!(
            matches!(shape("{}"), Err(SpecError::Invalid { reason }) if reason.contains("instanceType"))
        );
        assert!(matches!(shape(r#"{"instanceType":5}"#), Err(SpecError::Invalid { .. })));
        assert!(
            matches!(shape(r#"{"kind":"GCPMachineProviderSpec"}"#), Err(SpecError::ForeignKind { kind })
            if kind == "GCPMachineProviderSpec")
        );
    }
}

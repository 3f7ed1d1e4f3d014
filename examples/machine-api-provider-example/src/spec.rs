//! The spec half: parses `spec.providerSpec.value` of a Machine. Pure: it makes no requests.

use std::collections::BTreeMap;

use machinist_domain::shape::Shape;
use machinist_provider::spec::{Problem, SpecError, SpecHalf, SpecKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::flavours;

const KIND: &str = "ExampleMachineProviderConfig";
const KINDS: &[SpecKind] = &[SpecKind { group: "example.com", kind: KIND }];

/// A provider spec.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExampleMachineProviderConfig {
    pub(crate) flavour: String,
    #[serde(default = "site")]
    pub(crate) site: String,
    #[serde(default)]
    pub(crate) tags: BTreeMap<String, String>,
}

fn site() -> String {
    "cellar".to_owned()
}

#[derive(Deserialize)]
struct Header {
    kind: Option<String>,
}

impl ExampleMachineProviderConfig {
    pub(crate) fn read(spec: &RawValue) -> Result<Self, SpecError> {
        let invalid = |reason: String| SpecError::Invalid { reason };
        // serde would take a list for a struct, field by field.
        if !spec.get().trim_start().starts_with('{') {
            return Err(invalid("it must be an object".to_owned()));
        }
        let header: Header =
            serde_json::from_str(spec.get()).map_err(|error| invalid(error.to_string()))?;
        if let Some(kind) = header.kind.filter(|kind| kind != KIND) {
            return Err(SpecError::ForeignKind { kind, known: KINDS.to_vec() });
        }
        serde_json::from_str(spec.get()).map_err(|error| invalid(error.to_string()))
    }

    pub(crate) fn problems(&self) -> Vec<Problem> {
        if flavours::capacity(&self.flavour).is_some() {
            return Vec::new();
        }
        let known = flavours::names().collect::<Vec<_>>().join(", ");
        vec![Problem::at("flavour", format!("must be one of {known}"))]
    }
}

/// Reads provider specs.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExampleSpecs;

impl SpecHalf for ExampleSpecs {
    fn shape(&self, spec: &RawValue) -> Result<Shape, SpecError> {
        let config = ExampleMachineProviderConfig::read(spec)?;
        Ok(Shape {
            instance_type: config.flavour.into(),
            region: Some(config.site.into()),
            zone: None,
            root_disk_gib: None,
            credentials_secret: None,
        })
    }

    fn kinds(&self) -> &[SpecKind] {
        KINDS
    }

    // `update` in cloud.rs changes them on a living guest, so a MachineDeployment replaces no Machine for them.
    fn hot_fields(&self, _: &RawValue) -> &'static [&'static str] {
        &["tags"]
    }

    fn validate(&self, spec: &RawValue) -> Vec<Problem> {
        match ExampleMachineProviderConfig::read(spec) {
            Ok(config) => config.problems(),
            Err(error) => vec![Problem::at("", error.to_string())],
        }
    }
}

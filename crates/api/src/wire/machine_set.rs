//! MachineSets. The template's spec is kept raw as a whole, so that a machine made from it lacks nothing that we do not
//! know.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;

use super::{Condition, LabelSelector, Metadata, ProviderSpec, lenient};

/// A MachineSet.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineSet {
    /// The metadata.
    pub metadata: Metadata,
    /// The desired state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: MachineSetSpec,
    /// The observed state.
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: MachineSetStatus,
}

/// `spec` of a MachineSet.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetSpec {
    /// Which of OpenShift's two machine APIs shall be in charge.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// How many machines are wanted. The definitions fill it in, so `None` is rare and is not zero.
    pub replicas: Option<i32>,
    /// How long a machine must be ready before it counts as available.
    #[serde(deserialize_with = "lenient::or_default")]
    pub min_ready_seconds: i32,
    /// Which machines go first: Random, Newest or Oldest.
    pub delete_policy: Option<String>,
    /// Which machines are meant.
    #[serde(deserialize_with = "lenient::or_default")]
    pub selector: LabelSelector,
    /// The machine that the set makes copies of.
    #[serde(deserialize_with = "lenient::or_default")]
    pub template: MachineTemplate,
}

/// `spec.template` of a MachineSet.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// What the machines' metadata gets.
    #[serde(deserialize_with = "lenient::or_default")]
    pub metadata: TemplateMetadata,
    /// The machines' desired state.
    pub spec: TemplateSpec,
}

/// `spec.template.metadata` of a MachineSet.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// Labels that the machines get.
    #[serde(deserialize_with = "lenient::or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that the machines get.
    #[serde(deserialize_with = "lenient::or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// `spec.template.spec` of a MachineSet: the whole, and the part that is read.
#[derive(Debug, Default, Clone)]
pub struct TemplateSpec {
    /// All of it, as it came; `None` where there is nothing.
    pub raw: Option<Box<RawValue>>,
    /// What to ask the cloud for.
    pub provider_spec: ProviderSpec,
}

impl<'de> Deserialize<'de> for TemplateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Parts {
            #[serde(deserialize_with = "lenient::or_default")]
            provider_spec: ProviderSpec,
        }

        let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let Parts { provider_spec } = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { raw: Some(raw), provider_spec })
    }
}

/// `status` of a MachineSet.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetStatus {
    /// How many machines there are.
    pub replicas: Option<i32>,
    /// How many of them have all labels of the template.
    pub fully_labeled_replicas: Option<i32>,
    /// How many of them have a Node that is ready.
    pub ready_replicas: Option<i32>,
    /// How many of them have had one for long enough.
    pub available_replicas: Option<i32>,
    /// The generation of the observed spec.
    pub observed_generation: Option<i64>,
    /// The selector as text, for the scale subresource.
    pub label_selector: Option<String>,
    /// Reason of a permanent error.
    pub error_reason: Option<String>,
    /// Message of a permanent error.
    pub error_message: Option<String>,
    /// Conditions of all writers.
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
    /// Which of OpenShift's two machine APIs manages the object.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// Up to which generation the object in the other API is in step.
    pub synchronized_generation: Option<i64>,
}

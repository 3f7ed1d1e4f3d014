//! MachineSets. The template's spec stays raw, so that created Machines have its unknown fields too.

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
    /// Which of OpenShift's two machine APIs should manage the object.
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// The desired number of Machines. The CRDs have a default, so `None` is rare and not zero.
    pub replicas: Option<i32>,
    /// How long a Machine must be ready to be available.
    #[serde(deserialize_with = "lenient::or_default")]
    pub min_ready_seconds: i32,
    /// The delete policy: Random, Newest or Oldest.
    pub delete_policy: Option<String>,
    /// The selector.
    #[serde(deserialize_with = "lenient::or_default")]
    pub selector: LabelSelector,
    /// The template.
    #[serde(deserialize_with = "lenient::or_default")]
    pub template: MachineTemplate,
}

/// `spec.template` of a MachineSet.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// Metadata of the Machines.
    #[serde(deserialize_with = "lenient::or_default")]
    pub metadata: TemplateMetadata,
    /// Spec of the Machines.
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
    /// The raw value, if any.
    pub raw: Option<Box<RawValue>>,
    /// The provider spec.
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
    /// How many are available.
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
    /// The generation that was synchronized to the other API.
    pub synchronized_generation: Option<i64>,
}

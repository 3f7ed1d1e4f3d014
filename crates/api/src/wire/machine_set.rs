//! MachineSets. The template's spec stays raw, so that created Machines have its unknown fields too.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;

use super::{Condition, LabelSelector, Metadata, ProviderSpec, TemplateMetadata, lenient};

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineSet {
    pub metadata: Metadata,
    #[serde(deserialize_with = "lenient::or_default")]
    pub spec: MachineSetSpec,
    #[serde(deserialize_with = "lenient::or_default")]
    pub status: MachineSetStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetSpec {
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// The desired number of Machines. The CRDs have a default, so `None` is rare and not zero.
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub min_ready_seconds: i32,
    pub delete_policy: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub selector: LabelSelector,
    #[serde(deserialize_with = "lenient::or_default")]
    pub template: MachineTemplate,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    #[serde(deserialize_with = "lenient::or_default")]
    pub metadata: TemplateMetadata,
    pub spec: TemplateSpec,
}

/// `spec.template.spec` of a MachineSet: the whole, and the part that is read.
#[derive(Debug, Default, Clone)]
pub struct TemplateSpec {
    pub raw: Option<Box<RawValue>>,
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

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetStatus {
    pub replicas: Option<i32>,
    pub fully_labeled_replicas: Option<i32>,
    pub ready_replicas: Option<i32>,
    pub available_replicas: Option<i32>,
    pub observed_generation: Option<i64>,
    pub label_selector: Option<String>,
    pub error_reason: Option<String>,
    pub error_message: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub conditions: Vec<Condition>,
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
}

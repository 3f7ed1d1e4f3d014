//! MachineSets. The template's spec stays raw, so that created Machines have its unknown fields too.

use serde::Deserialize;
use serde_with::apply;

use super::{Condition, LabelSelector, Object, ProviderSpec, Raw, TemplateMetadata, lenient};

pub type MachineSet = Object<MachineSetSpec, MachineSetStatus>;

#[apply(_ => #[serde(deserialize_with = "lenient::or_default")])]
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetSpec {
    #[serde(rename = "authoritativeAPI")]
    pub authoritative_api: Option<String>,
    /// The desired number of Machines. The CRDs have a default, so `None` is rare and not zero.
    pub replicas: Option<i32>,
    pub min_ready_seconds: i32,
    pub delete_policy: Option<String>,
    pub selector: LabelSelector,
    pub template: MachineTemplate,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    #[serde(deserialize_with = "lenient::or_default")]
    pub metadata: TemplateMetadata,
    pub spec: Raw<TemplateSpec>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateSpec {
    #[serde(deserialize_with = "lenient::or_default")]
    pub provider_spec: ProviderSpec,
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

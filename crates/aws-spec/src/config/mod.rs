//! `AWSMachineProviderConfig` in full, as OpenShift's users write it.
//!
//! Input: a raw provider spec, under either API group. Output: a [`ProviderConfig`] with every field that a launch reads, and what is wrong
//! with it ([`ProviderConfig::problems`]).
//!
//! Reading is lenient: fields that are not known are ignored and `null` is nothing at all, as in Go. A field of the wrong type is an error
//! that says where. Words from a fixed list stay text here, so that a wrong one is a problem with a path and not a spec that cannot be
//! read. Not here: the few fields that a shape needs, which are read without all the others ([`AwsSpecs`](crate::AwsSpecs)).

mod defaults;
mod formats;
mod machine;
mod placement;
mod problems;
#[cfg(test)]
mod tests;
mod volumes;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use machinist_provider::spec::SpecError;

use crate::provider_config::foreign;

pub use self::defaults::missing_defaults;
pub use self::machine::{
    CpuOptions, Filter, LoadBalancer, LoadBalancerKind, LocalReference, Market, MetadataOptions,
    ProviderConfig, ResourceReference, SpotOptions, Tag,
};
pub use self::placement::{DedicatedHost, DynamicHost, HostPlacement, Placement};
pub use self::volumes::{BlockDevice, Ebs};

impl ProviderConfig {
    /// Reads a provider spec.
    pub fn read(spec: &RawValue) -> Result<Self, SpecError> {
        let invalid = |reason: String| SpecError::Invalid { reason };
        // serde would take a list for a struct, field by field.
        if !spec.get().trim_start().starts_with('{') {
            return Err(invalid("it must be an object".to_owned()));
        }
        let config: Self =
            serde_json::from_str(spec.get()).map_err(|error| invalid(place(spec, &error)))?;
        match foreign(config.kind.as_deref()) {
            Some(error) => Err(error),
            None => Ok(config),
        }
    }
}

/// What is wrong with a spec that cannot be read, and in which of its fields.
fn place(spec: &RawValue, error: &serde_json::Error) -> String {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(spec.get()).unwrap_or_default();
    let alone = |(name, value): (&String, &&RawValue)| {
        let only = serde_json::to_string(&BTreeMap::from([(name, value)])).ok()?;
        let error = serde_json::from_str::<ProviderConfig>(&only).err()?;
        // Where in the line it stands says nothing: nobody has seen this line.
        let text = error.to_string();
        let words = text.split(" at line ").next().unwrap_or_default();
        Some(format!("{name}: {words}"))
    };
    fields.iter().find_map(alone).unwrap_or_else(|| error.to_string())
}

/// What is there, or the default where there is `null`.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

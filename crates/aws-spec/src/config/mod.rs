//! `AWSMachineProviderConfig` in full, as OpenShift's users write it.
//!
//! Input: a raw provider spec, under either API group. Output: a [`ProviderConfig`] with every field that a launch reads, and what is wrong
//! with it ([`ProviderConfig::problems`]).
//!
//! Reading is lenient: fields that are not known are ignored and `null` is nothing at all, as in Go. A field of the wrong type is an error
//! with its path. Words from a fixed list stay text here, so that a wrong one is a problem with a path and not a spec that cannot be
//! read. Not here: the few fields that a shape needs, which are read without all the others ([`AwsSpecs`](crate::AwsSpecs)).

mod defaults;
mod formats;
mod machine;
mod placement;
mod problems;
#[cfg(test)]
mod tests;
mod volumes;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use machinist_provider::spec::{self, SpecError};

use crate::provider_config::foreign;

pub use self::defaults::missing_defaults;
pub use self::machine::{
    CpuOptions, Filter, LoadBalancer, LoadBalancerKind, LocalReference, Market, MetadataOptions,
    ProviderConfig, ResourceReference, SpotOptions, Tag,
};
pub use self::placement::{DedicatedHost, DynamicHost, HostPlacement, Placement};
pub use self::volumes::{BlockDevice, Ebs, SIZES};

impl ProviderConfig {
    /// Reads a provider spec.
    pub fn read(spec: &RawValue) -> Result<Self, SpecError> {
        let config: Self = spec::read(spec)?;
        match foreign(config.kind.as_deref()) {
            Some(error) => Err(error),
            None => Ok(config),
        }
    }
}

/// What is there, or the default where there is `null`.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

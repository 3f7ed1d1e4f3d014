//! All fields of `AWSMachineProviderConfig`, and their validation ([`ProviderConfig::problems`]).
//!
//! Reading is lenient, as in Go: unknown fields are ignored and `null` counts as missing. Enumerations stay text, so
//! that a wrong value is a problem with a path instead of an unreadable spec.

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

pub use self::machine::{
    CpuOptions, Filter, LoadBalancer, LocalReference, Market, MetadataOptions, ProviderConfig,
    ResourceReference, SpotOptions, Tag,
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

/// `null` is the default.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

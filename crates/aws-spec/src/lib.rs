//! AWS without the SDK: reads `AWSMachineProviderConfig`, and has the built-in catalogue of instance types. No IO.

#![expect(missing_docs, reason = "names and fields that say what they are")]

pub mod catalogue;
pub mod config;
mod instance_type;
pub mod mcm;
mod messages;
mod provider_config;
pub mod provider_id;

pub use instance_type::{Device, InstanceType, architecture};
pub use provider_config::AwsSpecs;

/// The name of the AWS provider.
pub const PROVIDER: &str = "aws";

//! AWS without the SDK: reads `AWSMachineProviderConfig`, and has the built-in catalogue of instance types. No IO.

pub mod catalogue;
pub mod config;
pub mod ec2_names;
mod provider_config;
pub mod provider_id;
mod type_facts;

pub use provider_config::AwsSpecs;
pub use type_facts::{DeviceFacts, TypeFacts};

/// The name of the AWS provider.
pub const PROVIDER: &str = "aws";

//! AWS without the SDK: reading `AWSMachineProviderConfig`, and the built-in catalogue of instance types.
//!
//! Input: raw provider specs and names of types. Output: shapes and capacities. Quick to build and to test; nothing here asks AWS anything.

pub mod catalogue;
pub mod config;
pub mod ec2_words;
mod provider_config;
mod type_facts;

pub use provider_config::AwsSpecs;
pub use type_facts::{DeviceFacts, TypeFacts};

/// The name of the AWS provider.
pub const PROVIDER: &str = "aws";

//! AWS without the SDK: reading `AWSMachineProviderConfig`, and the built-in catalogue of instance types.
//!
//! Input: raw provider specs. Output: shapes and capacities. Quick to build and to test; nothing here asks AWS anything.

mod provider_config;
mod table;

pub use provider_config::AwsSpecs;
pub use table::built_in;

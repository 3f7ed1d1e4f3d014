//! The cloud half for AWS. Only this crate uses the AWS SDK.
//!
//! Invariants: no SDK type leaves this crate; secret values stay inside the SDK's credential types and are not logged
//! ([`quiet`]); no lock is held across a call; the SDK does not retry.

mod client;
mod clients;
mod credentials;
mod ec2;
mod errors;
mod facts;
mod fence;
mod groups;
mod machines;
mod messages;
mod provider;
mod quiet;
mod regions;
mod responses;
#[cfg(test)]
mod samples;
mod tls;
mod types;

pub use ec2::all_types;
pub use errors::AwsError;
pub use provider::AwsProvider;
pub use types::{Ec2Types, TypeTimings};

//! The cloud half for AWS, and the only crate that sees the AWS SDK.
//!
//! In: realms (region, credentials, endpoint, CA bundle), machines, and the names of instance types. Out: [`AwsProvider`], which joins the spec half
//! (`aws-spec`), the instances behind machines, and what machines of some type give: [`Ec2Types`] (a
//! [`CapacitySource`](machinist_provider::capacity::CapacitySource) that never makes anybody wait) and [`all_types`] (the whole list, for the
//! catalogue).
//!
//! ```text
//! types::Ec2Types ── looks, batches, retries, listeners
//!        │ one asker per realm
//!        ▼
//! regions ── is the region one that can be asked?
//!        ▼
//! client ── credentials + tls ──> ec2 (the calls) ── answers (are they AWS's?) ──> facts
//!        ▲
//! machines ── prepare, create, describe, update, delete, list
//! groups ── Auto Scaling groups: describe, mark, terminate, resize, refresh
//! ```
//!
//! Invariants: no SDK type leaves this crate; secret values stay in memory, inside the SDK's credential types, and nothing that the SDK
//! logs is let through ([`quiet`]); nobody holds a lock over the network; the SDK does not retry, so that one place decides.
//! Not here: reading provider specs and the built-in catalogue (`aws-spec`), reading Secrets (`runtime`).

mod answers;
mod client;
mod credentials;
mod ec2;
mod errors;
mod facts;
mod groups;
mod machines;
mod provider;
mod quiet;
mod regions;
mod tls;
mod types;

pub use ec2::all_types;
pub use errors::AwsError;
pub use provider::AwsProvider;
pub use types::{Ec2Types, Parts, Spawn, TypeTimings};

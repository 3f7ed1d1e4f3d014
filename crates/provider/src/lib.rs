//! The contract between controllers and a cloud.
//!
//! A provider has two halves: the spec half ([`spec`]) is pure and reads raw provider specs; the cloud half
//! ([`cloud`]) creates, describes and deletes instances. [`capacity`] returns the capacity of instance types,
//! [`node_groups`] manages Auto Scaling groups. [`provider`] joins them and chooses among several providers; [`parts`]
//! is what the process gives to a provider.
//!
//! No type of a cloud SDK crosses this boundary. The feature `conformance` adds the test suite for providers.

pub mod access;
pub mod capacity;
pub mod cloud;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod lookups;
mod messages;
pub mod metrics;
pub mod node_groups;
pub mod parts;
pub mod platform;
pub mod provider;
pub mod secret;
pub mod spec;

use std::pin::Pin;

/// A future that a trait object can return.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

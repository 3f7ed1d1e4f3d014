//! The contract between controllers and a cloud. No type of a cloud SDK crosses it.
//!
//! A provider has two halves: the spec half ([`spec`]) is pure and reads raw provider specs; the cloud half
//! ([`cloud`]) creates, describes and deletes instances. [`provider`] joins them and chooses among several providers.
//! The feature `conformance` adds the test suite for providers.

#[expect(missing_docs, reason = "fields that say what they are")]
pub mod access;
#[expect(missing_docs, reason = "fields that say what they are")]
pub mod capacity;
#[expect(missing_docs, reason = "fields that say what they are")]
pub mod cloud;
#[cfg(feature = "conformance")]
#[expect(missing_docs, reason = "faults that say what they are")]
pub mod conformance;
#[expect(missing_docs, reason = "methods that say what they read")]
pub mod fields;
pub mod lookups;
pub mod messages;
pub mod metrics;
#[expect(missing_docs, reason = "fields that say what they are")]
pub mod node_groups;
#[expect(missing_docs, reason = "fields that say what they are")]
pub mod parts;
pub mod platform;
pub mod provider;
pub mod secret;
#[expect(missing_docs, reason = "fields that say what they are")]
pub mod spec;

use std::pin::Pin;

pub use machinist_domain::permit;

/// A future that a trait object can return.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

//! A simulated cloud for the playground, fault tests and benchmarks.
//!
//! Its instances live in a store behind HTTP, outside of Kubernetes and the controllers: these can be killed at any
//! time, and leaked instances can be counted. The same seed and requests result in the same names and events.

#![expect(missing_docs, reason = "names and fields that say what they are")]

pub mod client;
pub mod kubelet;
mod messages;
mod provider;
pub mod server;
pub mod spec;
pub mod types;
pub mod wire;

pub use provider::{ENDPOINT_VARIABLE, SimProvider};

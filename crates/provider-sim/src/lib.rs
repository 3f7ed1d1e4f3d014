//! A cloud that is not there: for the playground, for tests of faults, and for measuring thousands of machines.
//!
//! It is an honest cloud. Its instances live in a store of its own, behind HTTP, outside of Kubernetes and of the controllers: these may be
//! killed at any time, and what they leaked can be counted.
//!
//! ```text
//! controllers ── client (the cloud half) ──HTTP──> server ── store, clock, modes
//!                spec   (the spec half)                         │ what boots and dies
//!                                                            kubelet ──> Nodes in Kubernetes
//! ```
//!
//! * [`spec`]: `SimMachineProviderConfig`; [`types`]: the instance types that there are.
//! * [`server`]: the service, and the handle by which a test changes its ways and counts what is in it.
//! * [`client`]: the provider. [`SimProvider`] joins both halves.
//! * [`kubelet`]: what every instance does once it has booted: it registers a Node.
//! * [`wire`]: what client and server say to each other.
//!
//! Given the same seed and the same requests, everything has the same names and the same fate.

pub mod client;
pub mod kubelet;
mod provider;
pub mod server;
pub mod spec;
pub mod types;
pub mod wire;

pub use provider::{ENDPOINT_VARIABLE, SimProvider};

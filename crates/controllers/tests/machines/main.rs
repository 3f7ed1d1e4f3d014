//! Machines on a real API server and a simulated cloud: from a bare object to a running node, and back to nothing.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
#[macro_use]
#[path = "../support/definitions.rs"]
mod definitions;
#[cfg(test)]
#[path = "../support/controllers.rs"]
mod controllers;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod links;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod world;

//! All controllers of machines together, on a real API server and a simulated cloud: what a user of a cluster sees of them.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
#[macro_use]
#[path = "../support/definitions.rs"]
mod definitions;
#[cfg(test)]
mod alone;
#[cfg(test)]
mod chaos;
#[cfg(test)]
#[path = "../support/controllers.rs"]
mod controllers;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod process;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod scaling;

//! The controllers of machines on real API servers, with a simulated cloud.
//!
//! One test binary for all areas; only `crash` is apart, because `make crash` runs it in full.

// Under `cfg(test)`, so that clippy allows helpers of tests to unwrap.
#[cfg(test)]
#[macro_use]
mod definitions;
#[cfg(test)]
#[path = "../support/controllers.rs"]
mod controllers;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod freezes;
#[cfg(test)]
mod health_checks;
#[cfg(test)]
mod machine_sets;
#[cfg(test)]
mod machines;
#[cfg(test)]
mod process;

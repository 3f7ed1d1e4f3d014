//! MachineSets on a real API server: counting whatever goes wrong, adoption, policies, status. Machines stay objects here; nobody makes instances of them.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
#[macro_use]
#[path = "../support/definitions.rs"]
mod definitions;
#[cfg(test)]
mod counting;
#[cfg(test)]
mod owning;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod status;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod world;

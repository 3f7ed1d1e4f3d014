//! The runtime with toy controllers on a real API server: starting, sharing, stopping, writing, leases.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod evictions;
#[cfg(test)]
mod leases;
#[cfg(test)]
mod node_conditions;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod statuses;
#[cfg(test)]
mod things;
#[cfg(test)]
mod toys;
#[cfg(test)]
mod walkthrough;
#[cfg(test)]
mod world;
#[cfg(test)]
mod writes;

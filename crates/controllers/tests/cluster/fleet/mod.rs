//! All controllers of machines together, on a real API server and a simulated cloud: what a user of a cluster sees of
//! them.

mod alone;
mod autoscaler;
mod chaos;
pub(crate) mod fixture;
mod idle;
mod nodes;
mod preserving;
mod rollouts;
mod scaling;
pub(crate) mod timings;

//! MachineSets on a real API server: counting whatever goes wrong, adoption, policies, status. Machines stay objects
//! here, without instances.

mod counting;
mod owning;
mod policies;
mod status;
mod trouble;
pub(crate) mod world;

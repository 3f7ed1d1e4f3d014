//! MachineSets on a real API server: counting whatever goes wrong, adoption, policies, status. Machines stay objects here; nobody makes instances of them.

mod counting;
mod owning;
mod policies;
mod status;
mod trouble;
mod world;

//! Machines on a real API server and a simulated cloud: from a bare object to a running node, and back to nothing.

mod lifecycle;
mod links;
mod trouble;
mod world;

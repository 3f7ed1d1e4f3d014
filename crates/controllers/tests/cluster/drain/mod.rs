//! Drains on a whole cluster: a real API server whose disruption controller keeps the budgets, a scheduler, and kwok,
//! which runs the pods.

mod cluster;
mod driver;
mod machine;
mod tests;

pub(crate) use cluster::control_plane;

//! Drains on a whole cluster: a real API server whose disruption controller keeps the budgets, a scheduler, and kwok, which runs the pods.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod cluster;
#[cfg(test)]
#[path = "../support/controllers.rs"]
mod controllers;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;

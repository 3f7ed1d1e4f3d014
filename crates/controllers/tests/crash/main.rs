//! Crash anywhere, lose no machine and leak none: every write to Kubernetes and to the cloud, every fault. `make
//! crash` runs all, `make test` a fifth.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
#[path = "../support/controllers.rs"]
mod controllers;
#[cfg(test)]
mod every_fault;
#[cfg(test)]
mod subject;

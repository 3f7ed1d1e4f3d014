//! Crash anywhere, lose nothing: every write, to Kubernetes and to AWS, and every fault. `make crash` runs all, `make
//! test` a fifth.

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod broken_secret;
#[cfg(test)]
mod every_fault;
#[cfg(test)]
mod machine_sets;
#[cfg(test)]
mod recycles;
#[cfg(test)]
mod sets;
#[cfg(test)]
mod subjects;

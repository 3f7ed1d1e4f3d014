//! The binary as a process, with a real API server and EC2 on moto: what the annotator asks as whom and what it makes of the answers, and [`machines`].
//!
//! One control plane is plain Kubernetes and serves most tests, one namespace each; another is OpenShift as far as machinist looks at it
//! and serves one test at a time, because its settings are the cluster's. All share one moto; each test has a front of its own, which
//! says who asked for what.
//!
//! Not here: what EC2's answers mean and how long they are kept (`provider-aws`), what annotations say (`domain`), crashes (`crash`).

// Under `cfg(test)`, so that clippy knows helpers of tests for what they are.
#[cfg(test)]
mod identities;
#[cfg(test)]
mod machines;
#[cfg(test)]
mod migration;
#[cfg(test)]
mod openshift;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod recycle;
#[cfg(test)]
mod rival;
#[cfg(test)]
mod secrecy;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod types;

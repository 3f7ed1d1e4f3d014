//! The binary as a process, with a real API server and EC2 on moto: the annotator's calls, their credentials and the
//! results, and [`machines`].
//!
//! One control plane is plain Kubernetes and serves most tests, one namespace each; another is OpenShift as far as
//! machinist looks at it and serves one test at a time, because its settings are the cluster's. All share one moto;
//! each test has a front of its own, which records every call.
//!
//! Not here: what EC2's answers mean and how long they are kept (`provider-aws`), what is annotated (`domain`),
//! crashes (`crash`).

mod identities;
mod machines;
mod migration;
mod openshift;
mod ownership;
mod recycle;
mod rival;
mod secrecy;
mod small_role;
mod support;
mod trouble;
mod types;

//! For tests only: a World to test in, moto and the AWS front, fault injection, the crash harness.

#![expect(missing_docs, reason = "test support: names and fields say what they are")]

pub mod audit;
pub mod autoscaler;
pub mod aws;
pub mod cluster;
pub mod companions;
pub mod crash;
pub mod explore;
pub mod faults;
pub mod fuzz;
mod go_module;
pub mod http;
pub mod https;
pub mod imds;
pub mod kubectl;
pub mod lease;
pub mod openshift;
pub mod ownership;
pub mod poll;
pub mod process;
pub mod scenarios;
pub mod service_account;
pub mod stub;
pub mod world;

pub use world::World;

//! For tests only: moto and the AWS front, a metadata service, fault injection, the crash harness, builders.

pub mod aws;
pub mod cluster;
pub mod crash;
pub mod faults;
pub mod http;
pub mod imds;
pub mod kubectl;
pub mod lease;
pub mod ownership;
pub mod poll;
pub mod process;
pub mod scenarios;
pub mod world;

pub use world::World;

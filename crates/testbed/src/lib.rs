//! For tests only: moto and the AWS front, fault injection, the crash harness, builders.

pub mod aws;
pub mod crash;
pub mod faults;
pub mod ownership;
pub mod poll;

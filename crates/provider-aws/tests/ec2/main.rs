//! EC2 with the real SDK over real sockets: against moto behind the front, or a stub for responses that moto cannot
//! give.
//!
//! Needs `python3`; moto installs itself on first use. All tests share one moto; each has a front, a source and a
//! clock of its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test fail the test")]

mod answers;
mod credentials;
mod failures;
mod groups;
mod machines;
mod regions;
mod secrecy;
mod stub;
mod support;
mod time;
mod trust;

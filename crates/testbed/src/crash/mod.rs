//! Every write of a controller is made to fail in every way, one at a time: a [`Scenario`] runs once undisturbed, then
//! for every [`CrashPoint`] and [`Fault`] in a [`World`](crate::World) of its own, with the same end state.
//!
//! Invariants: one fault per world; a point that is not met again is a failure; the user goes past the proxy.

mod diff;
mod fault;
mod harness;
mod in_process;
mod lens;
mod motos;
pub mod normalise;
mod point;
mod process;
mod report;
mod sample;
mod scenario;
mod subject;
mod supervisor;
pub mod toy;
mod trial;
mod world;

pub use fault::Fault;
pub use harness::{Harness, Options};
pub use in_process::{RunningRuntime, RuntimeSubject};
pub use point::CrashPoint;
pub use process::{ProcessSubject, RunningProcess};
pub use report::{Difference, Report};
pub use sample::Sample;
pub use scenario::Scenario;
pub use subject::{Launch, Running, Subject};

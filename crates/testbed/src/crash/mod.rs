//! Every write of a controller is made to fail in every way: a [`Scenario`] runs undisturbed, then for every
//! [`CrashPoint`] and [`Fault`] in a [`World`](crate::World) of its own, with the same [`Milestone`]s and end state.
//! Some runs have two faults, chosen by the sample's offset.
//!
//! Invariants: a point that is not met again is a failure, unless it is the second one; the user goes past the proxy.

mod diff;
mod fault;
mod harness;
mod in_process;
mod lens;
mod milestone;
mod motos;
pub mod normalise;
mod point;
mod process;
mod report;
mod sample;
mod scenario;
mod strike;
mod subject;
mod supervisor;
pub mod toy;
mod trial;
mod world;

pub use fault::Fault;
pub use harness::{Harness, Options};
pub use in_process::{RunningRuntime, RuntimeSubject};
pub use milestone::{Milestone, Milestones};
pub use point::CrashPoint;
pub use process::{ProcessSubject, RunningProcess};
pub use report::{Difference, Report};
pub use sample::Sample;
pub use scenario::Scenario;
pub use strike::Strike;
pub use subject::{Launch, Running, Subject};

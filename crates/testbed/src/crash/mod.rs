//! The crash harness: every write of a controller is made to fail in every way, one at a time.
//!
//! A [`Scenario`] is run once undisturbed in front of a [`Subject`] (the controller). Each write that the subject made
//! is a [`CrashPoint`]. Then, for every point and every [`Fault`], the scenario runs again in a
//! [`World`](crate::World) of its own, the fault strikes at that point, and the end state must be the one of the
//! undisturbed run. The result is a [`Report`].
//!
//! Invariants: one fault per world; a point that is not met again is a failure; the user of the scenario talks to the
//! API server directly. How faults reach the wire is in [`crate::faults`].

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

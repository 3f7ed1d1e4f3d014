//! The real binary against a real API server, as processes: killed, paused, cut off, throttled, started too early.
//!
//! Each replica goes through a fault-injecting proxy of its own, so its requests can be told apart and disturbed; what
//! it did is read from that proxy's log, its metrics and its exit code, never from inside. Everything is in one test
//! binary: one control plane serves most tests, one namespace each. `MACHINIST_LONG=1` runs the long disturbances for
//! as long as they would last in life.
//!
//! Not here: crash points (`crash.rs`), and what a single function does (unit tests beside it).

mod events;
mod leases;
mod machines;
mod outages;
mod ownership;
mod playground;
mod quiet;
mod refusals;
mod rights;
mod secure_metrics;
mod staleness;
mod start_up;
pub(crate) mod support;
mod undecodable;

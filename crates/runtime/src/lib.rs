//! The runtime of the controllers: everything between their decisions and the clusters.
//!
//! * Reconciling: [`controller`] (the trait and its driver), [`queue`], [`self_writes`].
//! * Reading: [`cluster`] (clients), [`cache`] (informers), [`batch_cache`] (batched answers of cloud APIs).
//! * Writing: [`writer`] (the one gateway), [`lease`] (leader election), [`freezes`], [`events`].
//! * Process: [`manager`], [`tasks`], [`shutdown`], [`clock`], [`timings`], [`metrics`],
//!   [`health`], [`readiness`], [`admin`], [`tls`] and [`delegated_auth`] of its servers.

#![expect(missing_docs, reason = "names and fields that say what they are")]

mod admin;
pub mod batch_cache;
pub mod cache;
pub mod clock;
pub mod cluster;
pub mod controller;
mod delegated_auth;
pub mod events;
pub mod freezes;
mod health;
pub mod lease;
pub mod manager;
mod messages;
pub mod metrics;
pub mod queue;
mod readiness;
mod self_writes;
pub mod shutdown;
pub mod tasks;
pub mod timings;
mod tls;
pub mod user_agent;
pub mod writer;

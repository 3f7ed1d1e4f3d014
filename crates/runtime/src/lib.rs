//! How machinist runs: everything between a controller's decisions and the clusters.
//!
//! * What time it is: [`clock`], [`timings`], [`backoff`].
//! * Reading: [`cluster`] (clients), [`cache`] (what the cluster looks like), [`batch_cache`] (what a cloud says).
//! * Deciding: [`controller`] (the four stages and their driver), [`queue`], `echo` (what in the queue is our own doing).
//! * Writing: [`writer`] (the one gateway), [`lease`] (who may), [`events`].
//! * Being seen: [`metrics`], [`readiness`], [`admin`].
//! * Living and dying: [`manager`], [`tasks`], [`shutdown`], [`user_agent`].
//!
//! Nothing here knows what any controller is for.

pub mod admin;
pub mod backoff;
pub mod batch_cache;
pub mod cache;
pub mod clock;
pub mod cluster;
pub mod controller;
mod echo;
pub mod events;
pub mod lease;
pub mod manager;
pub mod metrics;
pub mod queue;
pub mod readiness;
pub mod shutdown;
pub mod tasks;
pub mod timings;
pub mod user_agent;
pub mod writer;

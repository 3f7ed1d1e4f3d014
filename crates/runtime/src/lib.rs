//! How machinist runs: everything between a controller's decisions and the clusters.
//!
//! * Time: [`clock`], [`timings`].
//! * Reading: [`cluster`] (clients), [`cache`] (informers), [`batch_cache`] (batched answers of cloud APIs).
//! * Reconciling: [`controller`] (the four stages and their driver), [`queue`], [`self_writes`].
//! * Writing: [`writer`] (the one gateway), [`lease`] (who may), [`events`].
//! * Being seen: [`metrics`], [`readiness`], [`admin`].
//! * Living and dying: [`manager`], [`tasks`], [`shutdown`], [`user_agent`].
//!
//! Nothing here knows what any controller is for.

pub mod admin;
pub mod batch_cache;
pub mod cache;
pub mod clock;
pub mod cluster;
pub mod controller;
pub mod events;
pub mod lease;
pub mod manager;
pub mod metrics;
pub mod queue;
pub mod readiness;
pub mod self_writes;
pub mod shutdown;
pub mod tasks;
pub mod timings;
pub mod user_agent;
pub mod writer;

//! Clients for clusters: [`config`], [`session`], [`live`], [`status`], [`error`], [`wait`].
//!
//! The control cluster has the objects, the target cluster the Nodes. Often they are the same. Only [`crate::writer`]
//! writes.

pub mod config;
pub mod error;
mod live;
pub mod session;
pub(crate) mod status;
pub mod wait;

pub use config::{ClusterChoice, ClusterFlags, ConfigError};
pub use error::ApiError;
pub use session::{Cluster, Session};

//! Clusters: which ones ([`config`]), how to talk to them ([`session`], [`live`]), what they answer ([`status`], [`error`]), when they are
//! there ([`wait`]).
//!
//! There are two roles: the control cluster holds the objects, the target cluster has the nodes. Often they are one.
//! Reading is possible for everybody in this crate; writing is only for [`crate::writer`].

pub mod config;
pub mod error;
mod live;
pub mod session;
pub(crate) mod status;
pub mod wait;

pub use config::{ClusterChoice, ClusterFlags, ConfigError};
pub use error::ApiError;
pub use session::{Cluster, Session};

//! Clients for clusters. The control cluster has the objects, the target cluster the Nodes; often they are the same.

pub mod config;
mod connection;
mod error;
mod live;
mod reach;
mod review;
mod session;
pub(crate) mod status;
pub(crate) mod wait;

pub use error::ApiError;
pub(crate) use kube::config::KubeconfigError;
pub(crate) use reach::Reach;
pub(crate) use session::Lines;
pub use session::{Cluster, Session};

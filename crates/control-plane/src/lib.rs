//! A real Kubernetes API in one call: etcd and kube-apiserver on this machine, for the playground and for tests.
//!
//! ```no_run
//! # async fn example() -> Result<(), machinist_control_plane::Error> {
//! use machinist_control_plane::ControlPlane;
//!
//! let control_plane = ControlPlane::start().await?;
//! let client = control_plane.client()?;
//! println!("export KUBECONFIG={}", control_plane.kubeconfig_path().display());
//! # Ok(())
//! # }
//! ```
//!
//! - [`ControlPlane`] owns the processes; they stop when it is dropped, and a guard process stops them when
//!   we die without dropping anything (`kill -9`).
//! - [`Builder`] chooses the version and the companions: kube-controller-manager, kube-scheduler, kwok.
//! - [`binaries`] says where the programs come from.
//! - [`children`] starts other processes that must not outlive this one.
//! - [`AuditLog`] reads what reached the API server.
//! - [`openshift_crds`] gets the definitions of Machines and MachineSets that OpenShift ships.
//!
//! Everything listens on 127.0.0.1 only, with certificates of its own. Nothing here knows about machinist's
//! kinds, faults or the cloud.

pub mod binaries;
pub mod children;

mod api_server;
mod audit;
mod builder;
mod certificates;
mod control_plane;
mod crds;
mod error;
mod etcd;
mod extras;
mod folder;
mod guard;
mod kubeconfig;
mod openshift;
mod ports;
mod process;
mod service_account;
mod version;

pub use audit::{AuditEntry, AuditError, AuditLog, POLICY_WITH_BODIES};
pub use builder::Builder;
pub use certificates::Identity;
pub use control_plane::ControlPlane;
pub use error::Error;
pub use openshift::{FeatureSet, openshift_crds};
pub use version::{ETCD_VERSION, KWOK_VERSION, KubernetesVersion};

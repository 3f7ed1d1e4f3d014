//! A real Kubernetes API in one call: etcd and kube-apiserver on this machine, for the playground and for tests.
//!
//! Everything listens on 127.0.0.1, with certificates of its own, and stops with this process, even after `kill -9`.
//! What only tests need (audit log, companions, OpenShift's CRDs) is in `testbed`.

pub mod binaries;
pub mod children;

mod api_server;
mod certificates;
mod control_plane;
mod crds;
mod etcd;
mod folder;
mod kubeconfig;
mod messages;
mod process;
mod version;

pub use control_plane::{ControlPlane, Options};
pub use version::KubernetesVersion;

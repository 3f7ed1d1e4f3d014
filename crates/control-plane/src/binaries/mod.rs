//! Where etcd, kube-apiserver and their companions come from.
//!
//! [`Sources::find`] asks four places in a fixed order and stops at the first that has the program:
//! the folder that `KUBEBUILDER_ASSETS` names, our cache, the official download (checksum verified),
//! a Go build from pinned modules. The last two fill the cache, so they happen once per machine.
//! Nothing here starts a program; that is the business of [`crate::ControlPlane`].

mod build;
mod cache;
mod download;
mod error;
mod http;
mod progress;
mod release;
mod source;

pub use build::BuildError;
pub(crate) use build::go as run_go;
pub use cache::CacheError;
pub use download::DownloadError;
pub use error::{Attempt, NotFound};
pub use release::{Binary, Release};
pub use source::Sources;

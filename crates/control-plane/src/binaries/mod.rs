//! Where etcd, kube-apiserver and the other programs come from.
//!
//! [`Sources::find`] tries four places in a fixed order: the folder that `KUBEBUILDER_ASSETS` names, our cache, the
//! official download (checksum verified), a Go build from pinned modules. The last two fill the cache, so they happen
//! once per machine.

mod build;
mod cache;
mod download;
mod progress;
mod release;
mod sources;
#[cfg(test)]
mod tests;

pub use build::GoModule;
pub use release::Binary;
pub use sources::Sources;

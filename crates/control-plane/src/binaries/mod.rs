//! Where etcd, kube-apiserver and the other programs come from: the folder that `KUBEBUILDER_ASSETS` names, our cache,
//! the official download (checksum verified), a Go build from pinned modules. The last two fill the cache.

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

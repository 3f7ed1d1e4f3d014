//! How an object is named in queues, caches and logs.

use std::fmt;
use std::sync::Arc;

/// Namespace and name of an object of a kind that the context knows.
///
/// Cloning costs two reference counts and no allocation: keys travel through queues all the time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// The uid of an object: unique over all time, unlike its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Uid(pub Arc<str>);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The version of an object in the store.
///
/// Kubernetes promises since 1.35, and has done in fact since etcd 3, that versions of one kind can be compared as numbers. Zero
/// means that the version could not be read: it is older than everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u64);

impl Version {
    /// Reads a `resourceVersion`.
    pub fn parse(raw: &str) -> Self {
        Self(raw.parse().unwrap_or(0))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

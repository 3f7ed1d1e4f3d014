//! Which releases this crate can run.
//!
//! A closed list, because every Kubernetes minor needs pinned Go modules of its own (see
//! `tools/control-plane`). How to add or bump one is in `docs/internals/control-plane.md`.

use std::fmt;

/// The etcd release that runs under every Kubernetes version here.
pub const ETCD_VERSION: &str = "3.6.8";

/// The kwok release that plays nodes and pods on request.
pub const KWOK_VERSION: &str = "0.7.0";

/// A Kubernetes release that can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum KubernetesVersion {
    /// The oldest minor that machinist supports, to see that newer API features are not taken for granted.
    V1_30,
    /// The default.
    #[default]
    V1_36,
}

impl KubernetesVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 2] = [Self::V1_30, Self::V1_36];

    /// The full release number without the leading `v`, such as `1.36.3`.
    pub const fn release(self) -> &'static str {
        match self {
            Self::V1_30 => "1.30.14",
            Self::V1_36 => "1.36.3",
        }
    }

    /// The first two numbers, as text.
    pub(crate) const fn major_minor(self) -> (&'static str, &'static str) {
        match self {
            Self::V1_30 => ("1", "30"),
            Self::V1_36 => ("1", "36"),
        }
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.release())
    }
}

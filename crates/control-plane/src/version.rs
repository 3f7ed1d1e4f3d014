//! The releases that this crate can run, each with pinned Go modules (`docs/internals/control-plane.md`).

use std::fmt;

pub(crate) const ETCD_VERSION: &str = "3.6.8";
pub(crate) const KWOK_VERSION: &str = "0.7.0";

/// A Kubernetes release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KubernetesVersion {
    /// The oldest minor that machinist supports.
    V1_30,
    /// The default.
    #[default]
    V1_36,
}

impl KubernetesVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 2] = [Self::V1_30, Self::V1_36];

    pub(crate) const fn release(self) -> &'static str {
        match self {
            Self::V1_30 => "1.30.14",
            Self::V1_36 => "1.36.3",
        }
    }

    pub(crate) fn minor(self) -> &'static str {
        self.release().split('.').nth(1).unwrap_or_default()
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.release())
    }
}

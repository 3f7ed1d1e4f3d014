//! The programs that this crate knows, and the release each one belongs to.

use std::fmt;

use crate::version::{ETCD_VERSION, KWOK_VERSION, KubernetesVersion};

/// A program of the control plane or one that works with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Binary {
    /// The store under the API server.
    Etcd,
    /// The Kubernetes API.
    KubeApiserver,
    /// Owner garbage collection, namespace deletion, disruption budgets and so on.
    KubeControllerManager,
    /// Puts pods on nodes.
    KubeScheduler,
    /// The command line client.
    Kubectl,
    /// Plays nodes and the pods on them.
    Kwok,
}

impl Binary {
    /// Every program, the two that are always needed first.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::Kubectl,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kwok,
    ];

    /// The name of the executable file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
        }
    }

    /// The release that provides this program next to the given Kubernetes version.
    pub const fn release(self, kubernetes: KubernetesVersion) -> Release {
        match self {
            Self::Etcd => Release::Etcd,
            Self::Kwok => Release::Kwok,
            Self::KubeApiserver
            | Self::KubeControllerManager
            | Self::KubeScheduler
            | Self::Kubectl => Release::Kubernetes(kubernetes),
        }
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.file_name())
    }
}

/// A set of programs that are published together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Release {
    /// etcd.
    Etcd,
    /// Kubernetes itself, kubectl included.
    Kubernetes(KubernetesVersion),
    /// kwok.
    Kwok,
}

impl Release {
    /// The version number without a leading `v`.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Etcd => ETCD_VERSION,
            Self::Kubernetes(version) => version.release(),
            Self::Kwok => KWOK_VERSION,
        }
    }

    const fn project(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kubernetes(_) => "kubernetes",
            Self::Kwok => "kwok",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.project(), self.version())
    }
}

/// This machine's platform in the words that Go and the download sites use: `(linux, amd64)`.
pub(super) fn platform() -> (&'static str, &'static str) {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    (os, arch)
}

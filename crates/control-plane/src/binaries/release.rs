//! The programs, and the release that each one belongs to.

use std::fmt;

use crate::version::{ETCD_VERSION, KWOK_VERSION, KubernetesVersion};

/// A program of the control plane or one that works with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    pub(super) const fn release(self, kubernetes: KubernetesVersion) -> Release {
        match self {
            Self::Etcd => Release::Etcd,
            Self::Kwok => Release::Kwok,
            _ => Release::Kubernetes(kubernetes),
        }
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.file_name())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Release {
    Etcd,
    Kubernetes(KubernetesVersion),
    Kwok,
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Etcd => write!(formatter, "etcd-{ETCD_VERSION}"),
            Self::Kubernetes(version) => write!(formatter, "kubernetes-{version}"),
            Self::Kwok => write!(formatter, "kwok-{KWOK_VERSION}"),
        }
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

//! What a control plane should have, and starting it.

use crate::ControlPlane;
use crate::binaries::Sources;
use crate::error::Error;
use crate::version::KubernetesVersion;

/// Choices for a control plane. The default is etcd and kube-apiserver of the newest version, nothing else.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {
    pub(crate) version: Option<KubernetesVersion>,
    pub(crate) sources: Option<Sources>,
    pub(crate) api_server_flags: Vec<String>,
    pub(crate) controller_manager: bool,
    pub(crate) scheduler: bool,
    pub(crate) kwok: bool,
}

impl Builder {
    /// Exactly this Kubernetes version. Without it: the newest, or what `KUBEBUILDER_ASSETS` holds.
    pub fn version(mut self, version: KubernetesVersion) -> Self {
        self.version = Some(version);
        self
    }

    /// Look for programs elsewhere than where the environment says.
    pub fn sources(mut self, sources: Sources) -> Self {
        self.sources = Some(sources);
        self
    }

    /// One more flag for kube-apiserver, such as `--feature-gates=X=true`. It wins over a flag of ours.
    pub fn api_server_flag(mut self, flag: impl Into<String>) -> Self {
        self.api_server_flags.push(flag.into());
        self
    }

    /// Also run kube-controller-manager: owner garbage collection, namespace deletion, disruption budgets.
    pub fn with_controller_manager(mut self) -> Self {
        self.controller_manager = true;
        self
    }

    /// Also run kube-scheduler.
    pub fn with_scheduler(mut self) -> Self {
        self.scheduler = true;
        self
    }

    /// Also run kwok: every Node becomes ready, every Pod on a Node runs.
    pub fn with_kwok(mut self) -> Self {
        self.kwok = true;
        self
    }

    /// Gets the programs if need be, starts everything, and returns when the API is ready for work.
    pub async fn start(self) -> Result<ControlPlane, Error> {
        ControlPlane::start_with(self).await
    }
}

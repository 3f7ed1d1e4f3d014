//! What is tested: something that can be started against an API server and killed.

use anyhow::Result;

use crate::faults::Proxy;

/// Where a subject has to work.
#[derive(Debug, Clone)]
pub struct Launch {
    /// A kubeconfig that leads through the proxy.
    pub kubeconfig: String,
    /// URL of the proxy.
    pub url: String,
    /// The only namespace that the subject may look at.
    pub namespace: String,
    /// Where the cloud is, if there is one.
    pub cloud: Option<String>,
}

impl Launch {
    /// A subject behind this proxy.
    pub fn new(proxy: &Proxy, namespace: &str) -> Self {
        let (kubeconfig, url) = (proxy.kubeconfig(), proxy.url());
        Self { kubeconfig, url, namespace: namespace.to_owned(), cloud: None }
    }

    /// A client configuration that leads through the proxy, without retries of kube's own.
    pub fn config(&self) -> Result<kube::Config> {
        let mut config = kube::Config::new(self.url.parse()?);
        config.default_namespace.clone_from(&self.namespace);
        config.default_retry = false;
        Ok(config)
    }
}

/// A controller, or a group of them, as the harness sees it.
pub trait Subject: Sync {
    /// A started instance.
    type Running: Running;

    /// Starts a fresh instance, which knows nothing of any earlier one.
    fn start(&self, launch: &Launch) -> impl Future<Output = Result<Self::Running>> + Send;
}

/// A started instance.
pub trait Running: Send {
    /// Ends it at once, in the middle of whatever it does, and returns when nothing of it runs any
    /// more. The text, if any, says how the instance had ended by itself before.
    fn kill(self) -> impl Future<Output = Result<Option<String>>> + Send;
}

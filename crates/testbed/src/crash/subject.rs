use anyhow::Result;

use crate::faults::Proxy;

#[derive(Debug, Clone)]
pub struct Launch {
    pub kubeconfig: String,
    pub url: String,
    pub namespace: String,
    pub cloud: Option<String>,
}

impl Launch {
    pub fn new(proxy: &Proxy, namespace: &str) -> Self {
        let (kubeconfig, url) = (proxy.kubeconfig(), proxy.url());
        Self { kubeconfig, url, namespace: namespace.to_owned(), cloud: None }
    }

    /// Without retries of kube's own.
    pub fn config(&self) -> Result<kube::Config> {
        let mut config = kube::Config::new(self.url.parse()?);
        config.default_namespace.clone_from(&self.namespace);
        config.default_retry = false;
        Ok(config)
    }
}

pub trait Subject: Sync {
    type Running: Running;

    /// It knows nothing of any earlier one.
    fn start(&self, launch: &Launch) -> impl Future<Output = Result<Self::Running>> + Send;
}

pub trait Running: Send {
    /// Returns when nothing of it runs any more; the text, if any, says how it had ended by itself before.
    fn kill(self) -> impl Future<Output = Result<Option<String>>> + Send;
}

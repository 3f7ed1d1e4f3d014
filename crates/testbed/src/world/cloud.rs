//! The cloud is behind the same proxy as the API server, so that calls which change it are crash points.

use anyhow::{Context, Result};
use machinist_provider_sim::kubelet::{KubeletOptions, Kubelets};
use machinist_provider_sim::server::{SimCloud, SimServer};

use crate::faults::Proxy;

const NAME: &str = "sim";

/// It knows nothing of the subject, so it can tell what the subject left behind.
#[derive(Debug)]
pub struct WorldCloud {
    pub sim: SimCloud,
    /// Behind the proxy, if there is one.
    pub endpoint: String,
    _server: SimServer,
    /// They register Nodes until they are dropped.
    pub kubelets: Option<Kubelets>,
}

impl WorldCloud {
    /// Its clock goes `scale` times as fast as real time. Its instances register Nodes directly at the API server.
    pub async fn start(api_server: &kube::Config, scale: f64) -> Result<Self> {
        // Names of instances come from the uids of their machines, so worlds on one API server do not meet.
        let sim = SimCloud::new(1, scale);
        let server = SimServer::start(&sim).await.context("a simulated cloud")?;
        let kubelets = Kubelets::start(&sim, api_server.clone(), KubeletOptions::default())?;
        Ok(Self { sim, endpoint: server.url(), _server: server, kubelets: Some(kubelets) })
    }

    pub(super) fn behind(self, proxy: &Proxy) -> Result<Self> {
        Ok(Self { endpoint: proxy.join(NAME, &self.endpoint)?, ..self })
    }
}

//! The running control plane.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::Mutex;

use crate::api_server::ApiServer;
use crate::binaries::{Binary, Sources};
use crate::certificates::Authority;
use crate::children::Guard;
use crate::etcd::Etcd;
use crate::folder::Folder;
use crate::process::on_free_port;
use crate::version::KubernetesVersion;
use crate::{crds, kubeconfig, messages};

const ADMIN: &str = "machinist-admin";

/// Choices for a control plane.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Exactly this Kubernetes version. Without it: the newest, or what `KUBEBUILDER_ASSETS` holds.
    pub version: Option<KubernetesVersion>,
    /// More flags for kube-apiserver, such as `--feature-gates=X=true`. They win over ours.
    pub api_server_flags: Vec<String>,
}

/// A running etcd and kube-apiserver. Dropping it stops both and removes the files, in the order of the fields:
/// kube-apiserver before etcd, the guard after both, the folder last.
pub struct ControlPlane {
    api_server: Mutex<ApiServer>,
    _etcd: Etcd,
    _guard: Guard,
    folder: Folder,
    port: u16,
    config: kube::Config,
    kubeconfig_path: PathBuf,
    kubeconfig_yaml: String,
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ControlPlane").field("port", &self.port).finish_non_exhaustive()
    }
}

impl ControlPlane {
    /// Gets the programs if need be, starts them, and returns when the API is ready for work.
    pub async fn start() -> Result<Self> {
        Self::start_with(Options::default()).await
    }

    /// The same with choices.
    pub async fn start_with(options: Options) -> Result<Self> {
        // The second call in a process is refused, which is fine.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let sources = Sources::from_env()?;
        let etcd_program = sources.find(Binary::Etcd, options.version).await?;
        let api_server_program = sources.find(Binary::KubeApiserver, options.version).await?;
        let folder = Folder::new()?;
        let guard = Guard::start(&folder.mark(), Some(folder.root()))?;
        let authority =
            Authority::new().with_context(|| messages::cannot("create", "a certificate"))?;
        let ca_pem = authority.pem();
        let ca_file = folder.write_internal("ca.crt", &ca_pem)?;
        let etcd = Etcd::start(&etcd_program, &folder, &authority, &ca_file).await?;
        let flags = options.api_server_flags;
        let mut api_server =
            ApiServer::prepare(api_server_program, &folder, &authority, &ca_file, &etcd, flags)?;
        let identity = authority.client(ADMIN, Some("system:masters"))?;
        let (port, config, kubeconfig_yaml) = on_free_port(async |port| {
            let url = format!("https://127.0.0.1:{port}");
            let kubeconfig = kubeconfig::render(&url, &ca_pem, ADMIN, &identity);
            let config = kubeconfig::parse(&kubeconfig).await?;
            api_server.start(port, &Client::try_from(config.clone())?, &folder).await?;
            Ok((port, config, kubeconfig))
        })
        .await?;
        let kubeconfig_path = folder.write("kubeconfig", &kubeconfig_yaml)?;
        let api_server = Mutex::new(api_server);
        Ok(Self {
            api_server,
            _etcd: etcd,
            _guard: guard,
            folder,
            port,
            config,
            kubeconfig_path,
            kubeconfig_yaml,
        })
    }

    /// A kubeconfig file of the administrator (group `system:masters`).
    pub fn kubeconfig_path(&self) -> &Path {
        &self.kubeconfig_path
    }

    /// The content of that file.
    pub fn kubeconfig_yaml(&self) -> &str {
        &self.kubeconfig_yaml
    }

    /// The administrator's configuration, to change before making a client of it.
    pub fn kube_config(&self) -> kube::Config {
        self.config.clone()
    }

    /// A new client of the administrator. It belongs to the Tokio runtime that it is made in.
    pub fn client(&self) -> Result<Client> {
        Client::try_from(self.kube_config()).with_context(|| messages::cannot("create", "a client"))
    }

    /// Stops kube-apiserver with SIGTERM. etcd and the data stay. Does nothing when it is stopped.
    pub async fn stop_api_server(&self) {
        self.api_server.lock().await.stop().await;
    }

    /// Kills kube-apiserver with SIGKILL: connections break without a goodbye.
    pub async fn kill_api_server(&self) {
        self.api_server.lock().await.kill();
    }

    /// Starts kube-apiserver again, at the same address, and waits until it is ready.
    pub async fn start_api_server(&self) -> Result<()> {
        let client = self.client()?;
        self.api_server.lock().await.start(self.port, &client, &self.folder).await
    }

    /// The folder of this control plane, with `audit.log` and `logs/`, which has the output of each program.
    pub fn folder(&self) -> &Path {
        self.folder.root()
    }

    /// Applies `CustomResourceDefinitions` (one or more YAML documents) and waits until they are served.
    pub async fn install_crds(&self, yaml: &str) -> Result<()> {
        crds::install(self.client()?, yaml).await
    }
}

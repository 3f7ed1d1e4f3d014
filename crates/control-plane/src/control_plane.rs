//! The running control plane.

use std::path::{Path, PathBuf};
use std::process::Command;

use kube::Client;
use tokio::sync::Mutex;

use crate::api_server::ApiServer;
use crate::audit::AuditLog;
use crate::binaries::{Binary, NotFound, Sources};
use crate::builder::Builder;
use crate::certificates::{Authority, Identity, TokenKeys};
use crate::error::Error;
use crate::etcd::Etcd;
use crate::extras::{Extras, Surroundings};
use crate::folder::Folder;
use crate::guard::Guard;
use crate::kubeconfig::{self, Credentials};
use crate::ports::free_port;
use crate::version::KubernetesVersion;
use crate::{crds, service_account};

const PORT_TRIES: u32 = 5;

/// A running etcd and kube-apiserver, with the companions that were asked for.
///
/// Dropping it stops everything and removes its files. The order of the fields is the order of stopping: kube-apiserver
/// before etcd, the guard after both, the folder last.
#[derive(Debug)]
pub struct ControlPlane {
    _extras: Extras,
    api_server: Mutex<ApiServer>,
    etcd: Etcd,
    _guard: Guard,
    folder: Folder,
    admin: Admin,
    sources: Sources,
    version: Option<KubernetesVersion>,
}

/// How the administrator reaches the API.
#[derive(Debug)]
struct Admin {
    url: String,
    port: u16,
    ca_pem: String,
    identity: Identity,
    kubeconfig_path: PathBuf,
    kubeconfig_yaml: String,
    config: kube::Config,
    audit_log: PathBuf,
}

impl ControlPlane {
    /// etcd and kube-apiserver of the newest version.
    pub async fn start() -> Result<Self, Error> {
        Self::builder().start().await
    }

    /// A control plane with choices.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) async fn start_with(builder: Builder) -> Result<Self, Error> {
        // The second call in a process is refused, which is fine.
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let sources = match builder.sources {
            Some(sources) => sources,
            None => Sources::from_env().map_err(NotFound::from)?,
        };
        let version = builder.version;
        let etcd_program = sources.find(Binary::Etcd, version).await?;
        let api_server_program = sources.find(Binary::KubeApiserver, version).await?;
        let folder = Folder::new()?;
        let guard = Guard::new(&folder)?;
        let authority = Authority::new()?;
        let ca_file = folder.write_internal("ca.crt", &authority.pem())?;
        let token_keys = TokenKeys::new()?;
        let etcd = Etcd::start(&etcd_program, &folder, &authority, &ca_file).await?;
        let mut api_server = ApiServer::prepare(
            api_server_program,
            &folder,
            &authority,
            &ca_file,
            &token_keys,
            &etcd,
        )?;
        api_server.add_flags(&builder.api_server_flags);
        let admin = Admin::start(&mut api_server, &folder, &authority).await?;
        let surroundings = Surroundings {
            sources: &sources,
            version,
            folder: &folder,
            authority: &authority,
            ca_file: &ca_file,
            url: &admin.url,
        };
        let mut extras = Extras::default();
        if builder.controller_manager {
            extras.start_controller_manager(&surroundings).await?;
        }
        if builder.scheduler {
            extras.start_scheduler(&surroundings).await?;
        }
        if builder.kwok {
            extras.start_kwok(&surroundings).await?;
        }
        let api_server = Mutex::new(api_server);
        Ok(Self {
            _extras: extras,
            api_server,
            etcd,
            _guard: guard,
            folder,
            admin,
            sources,
            version,
        })
    }

    /// The address of the API server, such as `https://127.0.0.1:21234`.
    pub fn url(&self) -> &str {
        &self.admin.url
    }

    /// The authority that signed every certificate here, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.admin.ca_pem
    }

    /// The administrator's client certificate (group `system:masters`).
    pub fn admin_identity(&self) -> &Identity {
        &self.admin.identity
    }

    /// A kubeconfig file of the administrator.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.admin.kubeconfig_path
    }

    /// The content of that file.
    pub fn kubeconfig_yaml(&self) -> &str {
        &self.admin.kubeconfig_yaml
    }

    /// The administrator's configuration, to change before making a client of it.
    pub fn kube_config(&self) -> kube::Config {
        self.admin.config.clone()
    }

    /// A new client of the administrator. It belongs to the Tokio runtime that it is made in.
    pub fn client(&self) -> Result<Client, Error> {
        client(self.kube_config())
    }

    /// A kubeconfig that acts as an existing `ServiceAccount`, with a token for a day.
    pub async fn service_account_kubeconfig(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<String, Error> {
        let token = service_account::token(self.client()?, namespace, name).await?;
        let credentials = Credentials::Token(&token);
        Ok(kubeconfig::render(self.url(), self.ca_pem(), name, credentials))
    }

    /// The configuration of a client that acts as an existing `ServiceAccount`.
    pub async fn service_account_config(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<kube::Config, Error> {
        kubeconfig::parse(&self.service_account_kubeconfig(namespace, name).await?).await
    }

    /// A client that acts as an existing `ServiceAccount`.
    pub async fn service_account_client(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Client, Error> {
        client(self.service_account_config(namespace, name).await?)
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
    pub async fn start_api_server(&self) -> Result<(), Error> {
        let client = self.client()?;
        self.api_server.lock().await.start(self.admin.port, &client).await
    }

    /// The process numbers of kube-apiserver (when it runs) and etcd.
    pub async fn process_ids(&self) -> Vec<u32> {
        let api_server = self.api_server.lock().await.process_id();
        api_server.into_iter().chain([self.etcd.process.id()]).collect()
    }

    /// The folder with everything that belongs to this control plane; `logs/` has what each program printed.
    pub fn folder(&self) -> &Path {
        self.folder.root()
    }

    /// The file that kube-apiserver writes its audit log to.
    pub fn audit_log_path(&self) -> &Path {
        &self.admin.audit_log
    }

    /// A reader of the audit log, from its first entry on.
    pub fn audit(&self) -> AuditLog {
        AuditLog::from_start(self.audit_log_path())
    }

    /// kubectl as the administrator, ready to get arguments. Gets the program first if need be.
    pub async fn kubectl(&self) -> Result<Command, Error> {
        let mut command = Command::new(self.sources.find(Binary::Kubectl, self.version).await?);
        command.env("KUBECONFIG", self.kubeconfig_path());
        Ok(command)
    }

    /// Applies `CustomResourceDefinitions` (one or more YAML documents) and waits until they are served.
    pub async fn install_crds(&self, yaml: &str) -> Result<(), Error> {
        crds::install(self.client()?, yaml).await
    }
}

impl Admin {
    /// Finds a port on which the API server comes up.
    async fn start(
        api_server: &mut ApiServer,
        folder: &Folder,
        authority: &Authority,
    ) -> Result<Self, Error> {
        let identity = authority.client("machinist-admin", Some("system:masters"))?;
        let ca_pem = authority.pem();
        let mut tries = 0;
        loop {
            tries += 1;
            let port = free_port()?;
            let url = format!("https://127.0.0.1:{port}");
            let credentials = Credentials::Certificate(&identity);
            let kubeconfig_yaml = kubeconfig::render(&url, &ca_pem, "machinist-admin", credentials);
            let config = kubeconfig::parse(&kubeconfig_yaml).await?;
            match api_server.start(port, &client(config.clone())?).await {
                Ok(()) => {}
                Err(error) if lost_its_port(&error) && tries < PORT_TRIES => continue,
                Err(error) => return Err(error),
            }
            let kubeconfig_path = folder.write("kubeconfig", &kubeconfig_yaml)?;
            let audit_log = folder.path("audit.log");
            return Ok(Self {
                url,
                port,
                ca_pem,
                identity,
                kubeconfig_path,
                kubeconfig_yaml,
                config,
                audit_log,
            });
        }
    }
}

fn lost_its_port(error: &Error) -> bool {
    matches!(error, Error::Exited { log, .. } if log.contains("address already in use"))
}

fn client(config: kube::Config) -> Result<Client, Error> {
    Client::try_from(config).map_err(Error::api("cannot make a client"))
}

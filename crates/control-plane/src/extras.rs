//! The companions that run on request: kube-controller-manager, kube-scheduler, kwok.
//!
//! Each has a client certificate of its own, so the audit log tells them apart. All are in `system:masters`: they
//! stand for a whole cluster here, and their own roles are not what is tested.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};

use crate::api_server::{healthy, path_flag};
use crate::binaries::{Binary, Sources};
use crate::certificates::Authority;
use crate::error::Error;
use crate::folder::Folder;
use crate::kubeconfig::{self, Credentials};
use crate::ports::free_port;
use crate::process::Process;
use crate::version::KubernetesVersion;

const START_LIMIT: Duration = Duration::from_mins(1);
const PORT_TRIES: u32 = 5;

/// What the companions need to know about their control plane.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) version: Option<KubernetesVersion>,
    pub(crate) folder: &'a Folder,
    pub(crate) authority: &'a Authority,
    pub(crate) ca_file: &'a Path,
    pub(crate) url: &'a str,
}

/// The companions that run.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    processes: Vec<Process>,
}

/// How a companion offers its health check.
#[derive(Debug, Clone, Copy)]
enum Health {
    Tls,
    Plain,
}

impl Extras {
    pub(crate) async fn start_controller_manager(
        &mut self,
        at: &Surroundings<'_>,
    ) -> Result<(), Error> {
        let flags = vec![
            path_flag("--root-ca-file", at.ca_file),
            path_flag("--service-account-private-key-file", &at.folder.internal("tokens.key")),
            "--leader-elect=false".into(),
            // The defaults (20 requests per second) are for a shared cluster.
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ];
        self.start_kubernetes(at, Binary::KubeControllerManager, flags).await
    }

    pub(crate) async fn start_scheduler(&mut self, at: &Surroundings<'_>) -> Result<(), Error> {
        let flags = vec![
            "--leader-elect=false".into(),
            "--kube-api-qps=500".into(),
            "--kube-api-burst=1000".into(),
        ];
        self.start_kubernetes(at, Binary::KubeScheduler, flags).await
    }

    pub(crate) async fn start_kwok(&mut self, at: &Surroundings<'_>) -> Result<(), Error> {
        let program = at.sources.find(Binary::Kwok, at.version).await?;
        let kubeconfig = at.kubeconfig("kwok")?;
        let flags = |port: u16| {
            vec![
                path_flag("--kubeconfig", Path::new(&kubeconfig)),
                path_flag("--config", &Sources::kwok_stages(&program)),
                "--manage-all-nodes=true".into(),
                "--node-ip=127.0.0.1".into(),
                format!("--server-address=127.0.0.1:{port}").into(),
            ]
        };
        self.start(at, Binary::Kwok, &program, Health::Plain, flags).await
    }

    /// The part that the two Kubernetes programs share.
    async fn start_kubernetes(
        &mut self,
        at: &Surroundings<'_>,
        binary: Binary,
        extra: Vec<OsString>,
    ) -> Result<(), Error> {
        let name = binary.file_name();
        let program = at.sources.find(binary, at.version).await?;
        let kubeconfig = at.kubeconfig(name)?;
        let server = at.authority.server(name)?;
        let certificate =
            at.folder.write_internal(&format!("{name}.crt"), &server.certificate_pem)?;
        let key = at.folder.write_internal(&format!("{name}.key"), &server.key_pem)?;
        let flags = |port: u16| {
            let mut flags = vec![
                path_flag("--kubeconfig", Path::new(&kubeconfig)),
                path_flag("--authentication-kubeconfig", Path::new(&kubeconfig)),
                path_flag("--authorization-kubeconfig", Path::new(&kubeconfig)),
                path_flag("--tls-cert-file", &certificate),
                path_flag("--tls-private-key-file", &key),
                "--bind-address=127.0.0.1".into(),
                format!("--secure-port={port}").into(),
            ];
            flags.extend(extra.iter().cloned());
            flags
        };
        self.start(at, binary, &program, Health::Tls, flags).await
    }

    async fn start(
        &mut self,
        at: &Surroundings<'_>,
        binary: Binary,
        program: &Path,
        health: Health,
        flags: impl Fn(u16) -> Vec<OsString>,
    ) -> Result<(), Error> {
        let name = binary.file_name();
        let log = at.folder.log(name);
        let mut tries = 0;
        loop {
            tries += 1;
            let port = free_port()?;
            let client = at.health_client(health, port).await?;
            let mut process = Process::spawn(name, program, &flags(port), &log)?;
            match process.wait_ready(START_LIMIT, || healthy(&client, "/healthz")).await {
                Ok(()) => {
                    self.processes.push(process);
                    return Ok(());
                }
                Err(Error::Exited { .. }) if process.lost_its_port() && tries < PORT_TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Surroundings<'_> {
    /// A kubeconfig file for a companion, with a certificate of its own.
    fn kubeconfig(&self, user: &str) -> Result<OsString, Error> {
        let identity = self.authority.client(user, Some("system:masters"))?;
        let credentials = Credentials::Certificate(&identity);
        let yaml = kubeconfig::render(self.url, &self.authority.pem(), user, credentials);
        let path = self.folder.write_internal(&format!("{user}.kubeconfig"), &yaml)?;
        Ok(path.into_os_string())
    }

    /// A client for a companion's own health check.
    async fn health_client(&self, health: Health, port: u16) -> Result<Client, Error> {
        let scheme = match health {
            Health::Tls => "https",
            Health::Plain => "http",
        };
        let identity = self.authority.client("health", None)?;
        let url = format!("{scheme}://127.0.0.1:{port}");
        let credentials = Credentials::Certificate(&identity);
        let yaml = kubeconfig::render(&url, &self.authority.pem(), "health", credentials);
        let config: Config = kubeconfig::parse(&yaml).await?;
        Client::try_from(config).map_err(Error::api("cannot make a client"))
    }
}
